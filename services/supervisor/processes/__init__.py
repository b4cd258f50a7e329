"""Child processes: started, watched, restarted and stopped, with their log files."""
