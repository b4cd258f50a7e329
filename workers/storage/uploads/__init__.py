"""Writes of objects: uploads, moves and copies."""
