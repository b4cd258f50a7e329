"""Step two: an operation held against a role's schema becomes a plan, a tree of data per root field."""
