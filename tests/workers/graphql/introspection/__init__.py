"""Tests of introspection."""
