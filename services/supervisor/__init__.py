"""Starts, watches and stops the parts of a platform on one machine."""
