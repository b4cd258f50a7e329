"""One leader reads the write-ahead log, decodes it once and publishes what changed."""
