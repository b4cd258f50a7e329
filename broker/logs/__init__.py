"""The store of log lines: files that one process of a machine writes and any process reads."""
