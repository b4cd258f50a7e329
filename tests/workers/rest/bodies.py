"""The body of a request in a test that needs no broker."""

from broker.requests.handler import BodyTooLarge


class Inline:
    """Bytes at hand, read like the body of a served request."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    async def read(self, limit: int) -> bytes:
        if len(self._data) > limit:
            raise BodyTooLarge(limit)
        return self._data
