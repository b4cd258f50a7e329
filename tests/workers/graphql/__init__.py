"""Tests of the GraphQL pool."""
