"""Endpoints, one module for each path or family of paths."""
