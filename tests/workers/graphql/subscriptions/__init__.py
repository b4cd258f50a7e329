"""Tests of the GraphQL pool's part of subscriptions."""
