"""Tests of the functions pool."""
