"""Tests of workers/graphql/validation."""
