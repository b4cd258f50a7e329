"""Tests of operations that have folders of their own."""
