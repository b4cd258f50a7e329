"""Tests of writing statements."""
