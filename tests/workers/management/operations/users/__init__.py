"""Tests of operations on users of the project."""
