"""Planning-based scheduling, with advance reservations and rules of the site."""
