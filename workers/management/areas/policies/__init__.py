"""Why a row is hidden and why a write is denied: grants, row security and policies for a caller.

caller.py    the caller: role, claims, and the settings of its requests
facts.py     what the catalog says: grants of the role, row security, the policies that apply
evaluate.py  expressions of policies over rows, as the caller
verdict.py   grants and policies combined as Postgres combines them, in plain words. Pure
explain.py, denied.py, sample.py   the answers: one row, one write, some rows
templates.py, matrix.py            policies that are often needed; role x command
"""
