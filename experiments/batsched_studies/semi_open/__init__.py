"""The semi-open models of N. Zakay's PhD thesis, chapter 6: docs/validation/semi-open.md."""
