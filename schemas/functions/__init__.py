"""Hosted functions: their log lines, errors, folders and variables."""
