"""Tests of credentials."""
