"""Tests of the realtime pool."""
