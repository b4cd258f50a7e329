"""Subscriptions: what has to be followed for them, and the rows of a change."""
