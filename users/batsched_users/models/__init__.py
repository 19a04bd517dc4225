"""User models, one a file: who submits which job when, and how people react to the system."""
