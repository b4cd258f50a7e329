"""Tests of `services/database_tests`."""
