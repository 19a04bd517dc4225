"""Learning the parameters of user models from logs."""
