"""[graphql]: the GraphQL interface (reference page "graphql", sections 15 and 16). Its schemas are those of [api].

Which rows a page holds is said by comments in the database (`max_rows`); here stand the bounds of requests.
"""

from msgspec import Struct, field

from schemas.settings.types import Amount, Bytes, Count, Duration, Rate, Seconds, Size


class Subscriptions(Struct, frozen=True):
    """[graphql.subscriptions]: subscriptions over sockets (docs/graphql-subscriptions.md). They need [realtime]."""

    enabled: bool = True
    """Sockets are opened; switched off, an upgrade is answered 501."""
    debounce: Duration = Duration(0.05)
    """How long after a change a live query waits for more before it runs again."""
    max_runs: Count = 8
    """Live queries that one edge process has run at a time."""
    max_sockets: Amount = 20_000
    """Sockets of one edge process; 0 is no limit."""
    max_sockets_per_address: Amount = 1000
    """Sockets of one edge process for one client address (see `gateway.trusted_proxies`); 0 is no limit."""
    max_starts_per_second: Rate = 20.0
    """Operations a second that one socket may start, on average over 10 seconds; beyond, they are refused. 0 is no limit."""
    max_operations: Count = 100
    """Operations that one socket may have open."""
    max_frame: Bytes = 1024 * 1024
    """Bytes of a frame that a client sends."""
    max_unsent: Size = Size(8 * 1024 * 1024)
    """Bytes that may wait for one socket, and of one answer; a client that reads more slowly is disconnected."""
    init_timeout: Seconds = 3.0
    """How long a client may take to say who it is."""
    keepalive: Seconds = 30.0
    """Pause between two pings; a client that does not answer within half of it is disconnected."""


class Graphql(Struct, frozen=True):
    """[graphql]: the GraphQL interface; exposed schemas and roles are those of [api]."""

    enabled: bool = True
    introspection: bool = True
    """Types are told to clients that ask for them; a comment on each exposed schema can switch it off as well."""
    additions: bool = False
    """Clients that ask for the types are told of what goes beyond the original (docs/graphql.md) as well; it works whether
    they are told or not. A comment on a schema, `@graphql({"additions": true})`, decides for its tables."""
    strict: bool = False
    """Documents are held to all rules of the GraphQL specification before they run: for development."""
    page: bool = True
    """A browser that opens the address is given a page for trying out queries."""
    max_document: Bytes = 256 * 1024
    """Bytes of one document (the text of queries, without variables)."""
    max_tokens: Count = 10_000
    """Words and signs of one document."""
    max_depth: Count = 30
    """Fields inside fields."""
    max_root_fields: Count = 50
    """Fields on the first level, aliases included: each is a statement of its own."""
    max_fields: Count = 2000
    """All fields of an operation; those of a fragment count wherever it is spread."""
    max_cost: Amount = 0
    """Rows one operation may ask for, pages multiplied by the pages inside them; 0 is no limit."""
    persisted_queries: Amount = 1000
    """Documents each worker keeps for clients that send only their hash; 0 switches that off."""
    subscriptions: Subscriptions = field(default_factory=Subscriptions)
