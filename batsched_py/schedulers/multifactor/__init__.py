"""Fair share, multifactor priorities, and the scheduler that sites run with them."""
