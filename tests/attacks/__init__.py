"""Attacks on a running platform, one module a class of attack: each was possible once, and none may be again."""
