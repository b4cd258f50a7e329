"""One-time codes and links: stored, prepared for sending, checked; attempts to guess codes and passwords, limited."""
