"""The simulated machine: SimGrid's platform files, hosts, links and routes."""
