"""The boolean expression of a shape: tokens, grammar, and SQL that is built from what was parsed. Pure."""
