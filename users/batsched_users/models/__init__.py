"""User models, one in each file: who submits which job when, and how users react."""
