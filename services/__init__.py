"""The network side: edges, supervisor and command line."""
