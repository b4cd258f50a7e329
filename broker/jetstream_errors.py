"""What JetStream answers when it does not do as it is told."""

from schemas.errors import Unavailable


class JetStreamRefused(Unavailable):
    """JetStream refused an order; `code` is its own number for the reason."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__(f"JetStream refused: {description or 'without a reason'}")
        self.code, self.description = code, description
