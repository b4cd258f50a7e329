"""Tests of the ground: data, and the files that ship with it."""
