"""N. Zakay, PhD thesis, chapters 4 and 5: what changes when users react."""
