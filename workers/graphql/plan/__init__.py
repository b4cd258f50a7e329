"""Step two: plan an operation by the schema of a role. The plan is a tree of data for each root field."""
