"""The subcommands, a file each or a few that are alike."""
