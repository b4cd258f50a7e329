"""Tests of the storage pool."""
