"""Types of a database's schemas for programs: `headwater gen types`."""
