"""A. Streit, PhD thesis, 2003: self-tuning planning."""
