"""Tests of the third step: from a plan to a statement."""
