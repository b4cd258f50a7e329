"""The error that JetStream answers with."""

from schemas.errors import Unavailable


class JetStreamError(Unavailable):
    """JetStream rejected a request; `code` is JetStream's own number for the reason."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__(f"JetStream refused: {description or 'without a reason'}")
        self.code, self.description = code, description


NO_SPACE = frozenset({10023, 10028, 10047})
"""Codes for a server or an account whose streams have reserved all the space that it may use."""


def explain_no_space(error: JetStreamError, name: str, max_bytes: int) -> JetStreamError:
    """Return an error that names the stream without space and the setting to change; any other error unchanged."""
    if error.code not in NO_SPACE:
        return error
    size = f" of {max_bytes / 1024**2:.0f} MiB" if max_bytes > 0 else ""
    return JetStreamError(
        error.code,
        f"stream {name}{size}: {error.description}; raise max_file_store of nats-server, or the limits of its account",
    )
