"""Backup and restore of a whole platform: its database and its blobs."""
