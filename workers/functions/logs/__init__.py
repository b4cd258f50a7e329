"""Log lines of functions: published to the stream FUNCTION_LOGS, and read back from it."""
