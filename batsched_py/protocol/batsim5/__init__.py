"""What only Batsim 5 has: its JSON, its calls, its registration, behind the same messages."""
