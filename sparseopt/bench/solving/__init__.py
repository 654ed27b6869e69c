"""One solve in a process of its own: what is solved, what its result is worth, and where it ran."""
