"""Mean embeddings of tables, and the fit of weights on public atoms to one."""
