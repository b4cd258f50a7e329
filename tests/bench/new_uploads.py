"""Uploads that each create an object: one request with a serial number in the name."""

import os
from collections.abc import Sequence
from typing import Any

from tests.bench.load import http

_SERIAL = b"00000000"


class NewNames(Sequence[bytes]):
    """An upload, each time under another name."""

    def __init__(self, request: bytes) -> None:
        self._head, _, self._tail = request.partition(_SERIAL)
        self._count = 0

    def __len__(self) -> int:
        return 1 << 60

    def __getitem__(self, index: Any) -> Any:
        self._count += 1
        return self._head + f"{self._count:08}".encode() + self._tail


def new_uploads(host: str, key: str, bucket: str, size: int) -> NewNames:
    """Return uploads of so many random bytes to a bucket, with a key of the service role."""
    headers = {"apikey": key, "Authorization": f"Bearer {key}"}
    path = f"/storage/v1/object/{bucket}/new-{size}/{_SERIAL.decode()}"
    return NewNames(http("POST", path, host, headers, os.urandom(size)))
