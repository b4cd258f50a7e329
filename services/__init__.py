"""The wing to the network: edges, supervisor and command line."""
