"""Jobs that run step by step, and the parallel tasks that share processors and links."""
