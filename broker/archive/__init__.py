"""The archive of continuous backups: where its files are stored, and how they are encrypted."""
