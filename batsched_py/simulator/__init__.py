"""The embedded simulator: behaves as Batsim 4.2, in process or in its place behind a socket."""
