"""Stored versions of rows as the pools `rest` and `management` read them, and what a caller may see of them."""
