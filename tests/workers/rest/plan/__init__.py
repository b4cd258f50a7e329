"""Tests of the second step: from a request to a plan."""
