"""Child processes: how they are started, watched, restarted and stopped, and their log files."""
