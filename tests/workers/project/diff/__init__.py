"""Tests of comparing schemas."""
