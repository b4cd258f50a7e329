"""The NATS client protocol of the hot path: one TCP connection, reconnecting, moving between servers of a cluster."""
