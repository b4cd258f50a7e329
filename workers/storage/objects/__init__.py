"""Rows of objects, and the headers that describe them."""
