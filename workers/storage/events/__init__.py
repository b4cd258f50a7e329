"""Events of objects and buckets: from the outbox table to NATS, and from there to a webhook."""
