"""M. Madon, G. Da Costa, J.-M. Pierson, FGCS 2024: replay with feedback."""
