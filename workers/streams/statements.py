"""The statements of the pool by name."""

from workers.sql.files import read_statements

SQL = read_statements("workers.streams", "statements.sql")
