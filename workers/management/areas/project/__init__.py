"""What operations on the project as a whole need: its ref, sessions for SQL that a person wrote, archives of functions."""
