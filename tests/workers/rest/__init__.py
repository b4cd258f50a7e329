"""Tests of the REST pool."""
