"""Tests of the images pool."""
