"""dynP: planning that switches its order by itself."""
