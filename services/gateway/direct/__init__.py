"""Requests that are answered from the parser's message to the socket's bytes, without aiohttp's objects and without a task."""
