"""Cases that others wrote for the REST interface: `python -m tests.conformance.rest`."""
