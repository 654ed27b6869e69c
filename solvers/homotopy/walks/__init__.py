"""From a first basis down a path, in double precision and in 106 bits."""
