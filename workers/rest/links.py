"""The `Link` header of a page by cursor, and query strings made of a plan's pieces. Pure. Source: RFC 8288."""

import base64
from collections.abc import Sequence
from urllib.parse import quote

import msgspec

from schemas.http import Headers
from workers.rest.model import PageEdges, RestPlan


def links(plan: RestPlan, edges: PageEdges, values: Sequence[str]) -> Headers:
    """Return the way to the next and the previous page, each where there is one.

    A page that was reached backwards has a next one for certain, and one reached forwards a previous one.
    """
    query = plan.request.query
    came_backwards = query.cursor is not None and query.cursor.is_backward
    came_forwards = query.cursor is not None and not came_backwards
    targets = []
    if edges.last is not None and (edges.has_more or came_backwards):
        targets.append((edges.last, False, "next"))
    if edges.first is not None and (came_forwards or (came_backwards and edges.has_more)):
        targets.append((edges.first, True, "prev"))
    pieces = query.without_cursor if query.cursor is not None else query.canonical
    base = query_text(pieces, values)
    joint = "&" if base else ""
    listed = [
        f'<?{base}{joint}cursor={_cursor(row, is_backward)}>; rel="{name}"'
        for row, is_backward, name in targets
    ]
    return [("link", ", ".join(listed))] if listed else []


def query_text(pieces: Sequence[str | tuple[str, int]], values: Sequence[str]) -> str:
    """Insert the values of a request into the pieces of its query string."""
    return "".join(
        [piece if isinstance(piece, str) else piece[0] + _encoded(values[piece[1]]) for piece in pieces]
    )


def _cursor(row: tuple[str | None, ...], is_backward: bool) -> str:
    """Write a cursor as `parse/additions.py` reads it."""
    data = msgspec.json.encode((is_backward, row))
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _encoded(value: str) -> str:
    """Encode a value; most are plain words or numbers, which need no work."""
    return value if value.isascii() and value.isalnum() else quote(value, safe="")
