"""Looking at users: which delimitation fits a log, and portraits of logs and simulations."""
