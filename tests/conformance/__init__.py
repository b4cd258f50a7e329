"""The official client libraries, and cases that others wrote, against a running platform."""
