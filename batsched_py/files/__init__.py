"""Read and write files: every reader reports file and line, every writer writes all or nothing."""
