"""What people see and get: tables, progress, files, exit codes."""
