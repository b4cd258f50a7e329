"""Tests of the SQL statements of plans."""
