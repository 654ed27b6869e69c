"""All solves of a suite, or units of a study, on the processors that there are."""
