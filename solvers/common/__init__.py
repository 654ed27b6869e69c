"""What several engines stand on: compiled functions, segments, child processes, spheres."""
