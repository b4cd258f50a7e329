"""What JetStream answers when it does not do as it is told."""

from schemas.errors import Unavailable


class JetStreamRefused(Unavailable):
    """JetStream refused an order; `code` is its own number for the reason."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__(f"JetStream refused: {description or 'without a reason'}")
        self.code, self.description = code, description


NO_ROOM = frozenset({10023, 10028, 10047})
"""Codes for a server, or an account, whose streams may not promise to keep as much as a stream would."""


def without_room(refused: JetStreamRefused, name: str, max_bytes: int) -> JetStreamRefused:
    """Return a refusal that says which stream finds no room and what to change; any other one as it is."""
    if refused.code not in NO_ROOM:
        return refused
    size = f" of {max_bytes / 1024**2:.0f} MiB" if max_bytes > 0 else ""
    return JetStreamRefused(
        refused.code,
        f"stream {name}{size}: {refused.description}; raise max_file_store of nats-server, or the limits of its account",
    )
