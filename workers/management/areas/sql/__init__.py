"""SQL that a person wrote, in sessions of its own.

messages.py   the server's messages -> columns, rows, tags, errors, notices (pure)
session.py    one connection, used for one run and closed after it
sessions.py   opens sessions: login, role, claims, limits; ends those that do not end by themselves
run.py        statements -> results within limits
errors.py     an error of the server with statement, line and column
explain.py    EXPLAIN as a tree (pure)
warnings.py   what a text would destroy (pure)
cells.py      values of rows as text, JSON and CSV (pure)
"""
