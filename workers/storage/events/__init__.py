"""Events of objects and buckets: from the outbox of the database to NATS, and from there to a webhook."""
