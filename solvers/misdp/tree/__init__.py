"""The search over the integers: nodes, branching, feasible points."""
