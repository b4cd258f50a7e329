"""Tests of reflection."""
