"""Tests of sign-in by other services."""
