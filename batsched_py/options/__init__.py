"""Options: their types, their texts, and what a command line says of them."""
