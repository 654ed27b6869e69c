"""What all families share: verdicts, rational numbers and their linear algebra, files."""
