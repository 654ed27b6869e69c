"""What a suite and a study are, and how they are found."""
