"""The embedded simulator as Batsim 4.2: energy, and machines that fail."""
