"""Durable jobs: runs whose finished steps are stored, worked on by functions (docs/queues-and-jobs.md)."""
