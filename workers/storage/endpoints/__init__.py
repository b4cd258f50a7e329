"""The HTTP endpoints of storage, one module for each kind of request."""
