"""Tests of the pool of accounts."""
