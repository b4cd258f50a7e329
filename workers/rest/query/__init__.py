"""Step three: Plan -> Sql."""
