"""Indexes that statements lack: which columns a plan asks for, and what an index on them changes, tried on a copy of rows."""
