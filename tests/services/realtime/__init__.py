"""Tests of services/realtime."""
