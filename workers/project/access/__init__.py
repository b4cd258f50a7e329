"""Who gains and who loses access: a database before and after a change, seen by roles and users.

catalog.py      what the catalog of one state says: relations, policies, functions, roles and their rights
callers.py      the roles and users that are tried, grouped by the claims that policies read
conditions.py   which expressions a command compares a row with. Pure
affected.py     which tables the change may concern. Pure
row_classes.py  rows grouped by the columns that policies read; rows of both states joined by key
candidates.py   rows that could be written. Pure
verdicts.py     which classes of rows each caller may read and write in one state
plain_reads.py  what views and functions without arguments return to a caller
channels.py     private channels of realtime
changes.py      verdicts and rights of both states -> the difference. Pure
report.py       the difference as text and JSON. Pure
compare.py      the steps in their order, for two states
trial.py, two_databases.py   the states: before and after a migration in one transaction; a platform and its branch
"""
