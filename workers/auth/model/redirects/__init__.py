"""Redirect targets: the allow list of patterns, and URL schemes."""
