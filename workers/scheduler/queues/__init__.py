"""Functions that consume queues of pgmq (docs/schedules-and-queues.md)."""
