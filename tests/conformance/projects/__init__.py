"""Whole project folders, each started on a platform of its own: `python -m tests.conformance.projects`."""
