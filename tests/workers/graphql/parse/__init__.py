"""Tests of parsing requests and documents."""
