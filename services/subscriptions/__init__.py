"""GraphQL subscriptions: the protocol graphql-transport-ws, live queries and row changes."""
