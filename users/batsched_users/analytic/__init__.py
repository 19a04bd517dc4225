"""Analytic companions: small queueing models with users of both kinds."""
