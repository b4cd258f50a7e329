"""Tests of `services/gateway`."""
