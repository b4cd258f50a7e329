"""Tests of the project folder's work."""
