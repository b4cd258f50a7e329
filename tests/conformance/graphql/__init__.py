"""Cases that others wrote for the GraphQL interface: `python -m tests.conformance.graphql`."""
