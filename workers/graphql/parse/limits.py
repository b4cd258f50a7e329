"""Limits of one operation. Pure."""

from dataclasses import dataclass

from schemas.settings.graphql import Graphql


@dataclass(frozen=True, slots=True)
class OperationLimits:
    """Limits of documents and plans. A request beyond them is rejected before the database is used."""

    document: int = 256 * 1024
    """Bytes of a document."""
    tokens: int = 10_000
    depth: int = 30
    """Fields inside fields."""
    root_fields: int = 50
    fields: int = 2000
    """All fields of an operation; the fields of a fragment count wherever it is spread."""
    cost: int = 0
    """Rows an operation may request, pages multiplied by the pages inside them; 0 switches the limit off."""


def limits_from(settings: Graphql) -> OperationLimits:
    """Return the limits of the settings."""
    return OperationLimits(
        document=settings.max_document,
        tokens=settings.max_tokens,
        depth=settings.max_depth,
        root_fields=settings.max_root_fields,
        fields=settings.max_fields,
        cost=settings.max_cost,
    )
