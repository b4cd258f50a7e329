"""The official client libraries, and cases that others wrote, against the running house."""
