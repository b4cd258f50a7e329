"""Statements for sessions of role postgres, which read rows of the project (rows.sql)."""

from workers.sql.files import read_statements

STATEMENTS = read_statements("workers.backup.continuous", "rows.sql")
