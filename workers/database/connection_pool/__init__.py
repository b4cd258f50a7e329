"""The connection pool: opening, sharing and closing connections, and reads that share one."""
