"""HiGHS in all its uses."""
