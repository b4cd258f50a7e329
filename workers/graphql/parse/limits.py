"""How much one request may ask for. Pure."""

from dataclasses import dataclass

from schemas.settings.graphql import Graphql


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of documents and plans; what lies beyond is refused before any work is done."""

    document: int = 256 * 1024
    """Bytes of a document."""
    tokens: int = 10_000
    depth: int = 30
    """Fields inside fields."""
    root_fields: int = 50
    fields: int = 2000
    """All fields of an operation, those of fragments counted wherever they are spread."""
    cost: int = 0
    """Rows an operation may ask for, pages multiplied by the pages inside them; 0 is no limit."""


def limits_of(settings: Graphql) -> Limits:
    """Give the limits that the settings name."""
    return Limits(
        document=settings.max_document,
        tokens=settings.max_tokens,
        depth=settings.max_depth,
        root_fields=settings.max_root_fields,
        fields=settings.max_fields,
        cost=settings.max_cost,
    )
