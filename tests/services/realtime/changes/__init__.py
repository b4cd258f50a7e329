"""Tests of services/realtime/changes."""
