"""Tests of generated types."""
