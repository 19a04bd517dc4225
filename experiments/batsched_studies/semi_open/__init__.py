"""N. Zakay, PhD thesis, chapter 6: the semi-open models, as docs/semi-open.md shows them."""
