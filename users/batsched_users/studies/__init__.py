"""Studies of users: choosing a delimitation of sessions, and portraits of users."""
