"""Deployed functions: the endpoints, the bundles in the blob store, and unpacking them on this machine."""
