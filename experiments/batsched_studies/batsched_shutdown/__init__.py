"""Compares the rules that switch processors off with batsched's variants."""
