"""What is kept of a run: its records as files, as a table, and the statistics of two runs."""
