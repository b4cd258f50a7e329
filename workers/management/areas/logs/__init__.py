"""The store of log lines, as the pool `management` keeps it."""
