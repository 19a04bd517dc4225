"""The protocol of Batsim 5: JSON, calls and registration, behind the same messages."""
