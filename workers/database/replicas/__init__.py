"""Read replicas: which reads run on a streaming replica, and how far behind the primary it may be."""
