"""Tests of reading requests and documents."""
