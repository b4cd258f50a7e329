"""Tests of the archive of continuous backups."""
