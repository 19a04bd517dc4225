"""The embedded simulator as Batsim 5, where it differs from Batsim 4.2."""
