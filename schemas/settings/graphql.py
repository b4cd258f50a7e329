"""[graphql]: the GraphQL interface (docs/reference/graphql.md, sections 15 and 16). Its schemas are those of [api].

Comments in the database set the rows of a page (`max_rows`); these settings are the limits of requests.
"""

from msgspec import Struct, field

from schemas.settings.types import Amount, Bytes, Count, Duration, Rate, Seconds, Size


class Subscriptions(Struct, frozen=True):
    """[graphql.subscriptions]: subscriptions over sockets (docs/graphql-subscriptions.md). They need [realtime]."""

    enabled: bool = True
    """Accept WebSockets; switched off, an upgrade is answered 501."""
    debounce: Duration = Duration(0.05)
    """How long after a change a live query waits for more before it runs again."""
    repeat: Duration = Duration(5)
    """Pause between runs of a live query whose policies or functions read a table that is not published; 0: it runs for changes of others alone."""
    max_runs: Count = 8
    """Live queries that one edge process runs at a time."""
    max_sockets: Amount = 20_000
    """Sockets of one edge process; 0: unlimited."""
    max_sockets_per_address: Amount = 1000
    """Sockets of one edge process for one client address (see `gateway.trusted_proxies`); 0: unlimited."""
    max_starts_per_second: Rate = 20.0
    """Operations a second that one socket may start, on average over 10 seconds; further ones are rejected. 0: unlimited."""
    max_operations: Count = 100
    """Operations that one socket may have open."""
    max_frame: Bytes = 1024 * 1024
    """Bytes of a frame from a client."""
    max_unsent: Size = Size(8 * 1024 * 1024)
    """Bytes that may wait for one socket, and of one response; a client that reads more slowly is disconnected."""
    init_timeout: Seconds = 3.0
    """How long a client may take to send `connection_init`."""
    keepalive: Seconds = 30.0
    """Pause between two pings; a client that does not answer within half of it is disconnected."""


class Graphql(Struct, frozen=True):
    """[graphql]: the GraphQL interface; exposed schemas and roles are those of [api]."""

    enabled: bool = True
    introspection: bool = True
    """Clients may query the types; a comment on each exposed schema can switch it off as well."""
    additions: bool = False
    """Introspection includes what goes beyond the original (docs/graphql.md); it works whether or not it is included. A comment on a
    schema, `@graphql({"additions": true})`, decides for its tables.
    """
    strict: bool = False
    """Validate documents by all rules of the GraphQL specification before they run: for development."""
    page: bool = True
    """A browser that opens the address gets a page for trying out queries."""
    max_document: Bytes = 256 * 1024
    """Bytes of one document (the text of queries, without variables)."""
    max_tokens: Count = 10_000
    """Tokens of one document."""
    max_depth: Count = 30
    """Depth of nested fields."""
    max_root_fields: Count = 50
    """Fields on the first level, including aliases: each is a statement of its own."""
    max_fields: Count = 2000
    """All fields of an operation; those of a fragment count wherever it is spread."""
    max_cost: Amount = 0
    """Rows that one operation may request, pages multiplied by the pages inside them; 0: unlimited."""
    persisted_queries: Amount = 1000
    """Documents that each worker caches for clients that send only their hash; 0 switches that off."""
    subscriptions: Subscriptions = field(default_factory=Subscriptions)
