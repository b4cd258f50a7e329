"""Continuous backup: base backups and the write-ahead log into an archive, and the plan and files of a restore to any moment."""
