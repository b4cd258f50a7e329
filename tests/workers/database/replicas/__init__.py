"""Tests of read replicas, with a real streaming standby."""
