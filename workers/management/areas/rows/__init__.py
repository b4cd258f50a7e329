"""Rows of any table or view, for grids and programs.

table.py      what the catalog says about a table: columns, key, foreign keys
filters.py    filters and sorts -> SQL (pure)
page.py       a keyset page -> one statement; its rows -> the answer (pure)
rest_url.py   the same page as a request to REST (pure)
edit.py       inserts, updates and deletes -> statements (pure)
changes.py    edits in one transaction, with the version of each row
records.py    CSV, JSON and NDJSON -> records with their lines
importing.py  records -> rows, in batches, with errors by line
"""
