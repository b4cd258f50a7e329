"""[graphql]: the GraphQL interface (reference page "graphql", sections 15 and 16). Its schemas are those of [api].

Which rows a page holds is said by comments in the database (`max_rows`); here stand the bounds of requests.
"""

from msgspec import Struct

from schemas.setting_types import Amount, Bytes, Count


class Graphql(Struct, frozen=True):
    """[graphql]: the GraphQL interface; exposed schemas and roles are those of [api]."""

    enabled: bool = True
    introspection: bool = True
    """Types are told to clients that ask for them; a comment on each exposed schema can switch it off as well."""
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
