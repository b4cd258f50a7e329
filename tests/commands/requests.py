"""What `client.py` and `loaded_process.py` agree on. A module of its own: a client does not load the platform's code."""

CONTROL = "TESTS_COMMANDS_FD"
"""Environment variable with the descriptor of the socket for requests."""
REQUEST = b"c"
"""The message of a request; its descriptors are the order (JSON), stdout, stderr and the pipe for the reply."""
