"""The boolean expression of a shape: tokens, grammar, and SQL that is written anew from what was parsed. Pure."""
