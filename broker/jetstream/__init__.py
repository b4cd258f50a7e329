"""JetStream: streams, ordered publishing and reading, durable consumers, and checks that streams store messages."""
