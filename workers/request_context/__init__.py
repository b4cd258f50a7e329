"""Whom a transaction acts for: database role, claims and request settings, shared by the pools."""
