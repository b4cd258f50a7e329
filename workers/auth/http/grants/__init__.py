"""Grants of POST /token, one module each."""
