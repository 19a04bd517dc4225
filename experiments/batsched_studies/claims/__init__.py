"""The claims of all studies on one page."""
