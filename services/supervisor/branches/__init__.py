"""Branches of a platform: a copy of its database, files and settings in a data folder of its own."""
