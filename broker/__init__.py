"""Messaging between edges and workers: NATS, JetStream, bodies in chunks, the blob store, observability, process life cycle."""
