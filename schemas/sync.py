"""What the edge of shapes and the pool `sync` exchange beside requests and responses. Source: docs/sync.md."""

from msgspec import Struct

SHAPE = "/shape"
"""Path of a client's request."""
CONTINUE = "/continue"
"""Path of an edge's own request for requests that wait: `?handle=&offset=&final=`. No client can send it."""
WAIT = 204
"""Status of the pool's answer that there is nothing yet: the edge waits. It is never sent to a client."""
HANDLE, OFFSET = "electric-handle", "electric-offset"
UP_TO_DATE, HAS_DATA = "electric-up-to-date", "electric-has-data"
CURSOR, SCHEMA = "electric-cursor", "electric-schema"
SEPARATOR = b",\n"
"""Between the messages of a body; JSON texts contain no line break, so a body can be split there."""


class ShapesChanged(Struct, frozen=True, tag="shapes-changed"):
    """Shapes have new messages, or have ended: requests that wait for one of them are answered now."""

    handles: list[str] = []
    is_restart: bool = False
    """The pool has started: all that wait ask again."""
