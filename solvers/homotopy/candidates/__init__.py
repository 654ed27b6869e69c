"""Which rows and variables a dense program has, and what is seen of all the others."""
