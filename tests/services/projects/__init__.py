"""Tests of `services/projects`."""
