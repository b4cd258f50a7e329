"""Tests of `services/middleware`."""
