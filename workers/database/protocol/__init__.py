"""The frontend/backend protocol of Postgres on one connection, pipelined: messages, replies, long values, row bodies."""
