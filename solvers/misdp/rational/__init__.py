"""Solutions of conic constraints in rational arithmetic: what rounding would break."""
