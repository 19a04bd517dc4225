"""Runs on clusters through dask: the ``executor`` here, the ``node`` there, and its ``address``."""
