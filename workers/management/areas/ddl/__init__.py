"""Changes of the schema as structs, and the SQL that makes them. Pure.

text_checks.py   texts that a person wrote (types, expressions, queries) are one thing of their kind
tables.py, constraints.py, objects.py, routines.py, access.py   the changes: each has `statements()`
changes.py       all changes as one union, and the text of a migration
warnings.py      what a change locks, rewrites or loses
"""
