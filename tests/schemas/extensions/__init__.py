"""Tests of the extension folder, in a real server."""
