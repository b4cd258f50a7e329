"""A bucket of keys and values in JetStream, with compare-and-set: for state that a few processes share and that survives them.

The bucket is created by the first process that uses it. Every value has a revision, the sequence of its message in the bucket's stream.
Source: ADR-8 of NATS, "JetStream based Key-Value Stores".
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import nats.errors
from nats.js import JetStreamContext
from nats.js.api import KeyValueConfig, StorageType
from nats.js.errors import (
    BadRequestError,
    BucketNotFoundError,
    Error,
    KeyNotFoundError,
    KeyWrongLastSequenceError,
)
from nats.js.kv import KeyValue

from broker.jetstream.nats_py import JetStreamClient
from broker.nats.connection import NatsConnection
from schemas.errors import Unavailable

_ANSWER_S = 5.0
_NEVER = 0
"""Revision of a key without a value."""
_NAME_IN_USE = 10058
"""JetStream's code for a stream that exists with another configuration."""


@dataclass(frozen=True, slots=True)
class KeyRevision:
    """A value and its revision."""

    value: bytes
    revision: int


class KeyValueBucket:
    """One bucket. Every method raises Unavailable if NATS does not answer."""

    def __init__(self, connection: NatsConnection, name: str, *, replicas: int, max_bytes: int) -> None:
        self._client = connection.linked(JetStreamClient)
        self._config = KeyValueConfig(
            bucket=name,
            history=1,
            storage=StorageType.FILE,
            replicas=replicas,
            max_bytes=max_bytes,
            direct=True,  # with several replicas a read may return an older value; only `replace` is exact
        )
        self._bucket: tuple[JetStreamContext, KeyValue] | None = None

    async def read(self, key: str) -> KeyRevision | None:
        """Return the value of a key, or None without one."""
        async with self._opened() as bucket:
            try:
                entry = await bucket.get(key)
            except KeyNotFoundError:
                return None
            return KeyRevision(entry.value or b"", entry.revision or _NEVER)

    async def write(self, key: str, value: bytes) -> int:
        """Set a value, whatever it was; return its revision."""
        async with self._opened() as bucket:
            return await bucket.put(key, value)

    async def replace(self, key: str, value: bytes, last: KeyRevision | None) -> int | None:
        """Set a value if that of the key still is `last`; return its revision, None if another process was faster."""
        async with self._opened() as bucket:
            try:
                if last is None:
                    return await bucket.create(key, value)
                return await bucket.update(key, value, last=last.revision)
            except KeyWrongLastSequenceError:
                return None

    async def remove(self, key: str) -> None:
        """Remove the value of a key."""
        async with self._opened() as bucket:
            await bucket.delete(key)

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[KeyValue]:
        """Provide the bucket. After an error it is opened again, and created if it is gone."""
        try:
            async with self._client.use(_ANSWER_S) as stream:
                yield await self._open(stream)
        except (nats.errors.Error, Error, TimeoutError, OSError) as error:
            self._bucket = None
            reason = str(error) or type(error).__name__
            raise Unavailable(f"the broker did not store or read it: {reason}") from None

    async def _open(self, stream: JetStreamContext) -> KeyValue:
        """Return the bucket for a client; a new client needs a new one."""
        if self._bucket is None or self._bucket[0] is not stream:
            try:
                bucket = await stream.key_value(self._config.bucket)
            except BucketNotFoundError:
                await self._create(stream)
                bucket = await stream.key_value(self._config.bucket)
            self._bucket = stream, bucket
        return self._bucket[1]

    async def _create(self, stream: JetStreamContext) -> None:
        """Create the bucket, unless another process has created it meanwhile, if only with another configuration."""
        try:
            await stream.create_key_value(self._config)
        except BadRequestError as error:
            if error.err_code != _NAME_IN_USE:
                raise
