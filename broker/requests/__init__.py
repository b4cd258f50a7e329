"""Request and reply over NATS: the caller's side, the pool member's side, bodies in chunks, fair shares."""
