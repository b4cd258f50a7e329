"""Reuse what the pool said about an object of a public bucket, for as long as the pool allows (`LookupReuse`).

A response is stored with the moment in which its request was sent. It is used until its seconds are over, unless an
`ObjectsChanged` about the object has arrived since that moment. So a response that was on its way while the object changed
is not used either.

The pool announces a change after its commit and before its response, on the same connection: the edge that sent the change learns
of it before the client does. Another edge learns of it within milliseconds. A change by plain SQL is not announced, and an
announcement may be lost with a connection: then the seconds are the bound.
"""

import time
from collections.abc import Callable, Mapping

from broker.codec import InvalidMessage, MessageDecoder
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.subjects import OBJECTS_CHANGED
from schemas.bounded_cache import BoundedCache
from schemas.http import Response
from schemas.storage_events import ObjectsChanged

_PUBLIC = "/object/public/"
_MOST = 4096
"""Responses, and changes, that are remembered: about 2 KB each."""
LONGEST_CONTENT = 64 * 1024
"""Bytes of the longest object whose content is stored with the response."""
_MOST_CONTENT = 16 * 1024 * 1024
"""Bytes of all stored contents; beyond it all are removed."""
_CONDITIONS = ("if-none-match", "if-match", "if-modified-since", "if-unmodified-since")
"""Headers of the request that the pool's response depends on."""

_decode = MessageDecoder(ObjectsChanged)


class LookupCache:
    """Stored responses by path and query of their requests."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._responses: BoundedCache[str, tuple[float, Response]] = BoundedCache(_MOST)
        self._contents: dict[str, bytes] = {}
        self._contents_size = 0
        self._changes: BoundedCache[tuple[str, str], float] = BoundedCache(_MOST)
        self._all_changed_at = float("-inf")

    def follow(self, connection: NatsConnection) -> None:
        """Learn of changes."""
        connection.subscribe(OBJECTS_CHANGED.name, self._on_message)

    def start(self, method: str, path: str, query: str, headers: Mapping[str, str]) -> "PublicLookup | None":
        """Return the lookup of a request, None if it depends on more than its path and query. `path` is below the area's prefix."""
        if method != "GET" or not path.startswith(_PUBLIC) or any(name in headers for name in _CONDITIONS):
            return None
        return PublicLookup(self, f"{path}?{query}", self._clock())

    def find(self, key: str, now: float) -> Response | None:
        """Return the stored response of a request."""
        entry = self._responses.get(key)
        if entry is None:
            return None
        sent_at, response = entry
        claim = response.claim
        if claim is None or claim.reuse is None or now >= sent_at + claim.reuse.seconds:
            return None
        bucket, name = claim.reuse.bucket, claim.reuse.name
        changed_at = self._changes.get
        if (
            sent_at <= self._all_changed_at
            or sent_at <= changed_at((bucket, ""), sent_at - 1)
            or sent_at <= changed_at((bucket, name), sent_at - 1)
        ):
            return None
        return response

    def store(self, key: str, sent_at: float, response: Response) -> None:
        """Store a response that the pool allows to reuse."""
        if response.claim is not None and response.claim.reuse is not None:
            self._responses.put(key, (sent_at, response))

    def content(self, version: str) -> bytes | None:
        """Return the stored bytes of a version of an object, which never change."""
        return self._contents.get(version)

    def store_content(self, version: str, content: bytes) -> None:
        """Store the bytes of a version."""
        if version in self._contents:
            return
        if self._contents_size + len(content) > _MOST_CONTENT:
            self._contents.clear()
            self._contents_size = 0
        self._contents[version] = content
        self._contents_size += len(content)

    def note(self, change: ObjectsChanged) -> None:
        """Use no response any more that the pool made before now, of the objects that changed."""
        now = self._clock()
        if not change.bucket:
            self._all_changed_at = now
            return
        evicted = self._changes.put((change.bucket, change.name), now)
        if evicted is not None:
            self._all_changed_at = max(self._all_changed_at, evicted[1])

    def _on_message(self, message: NatsMessage) -> None:
        try:
            self.note(_decode(message.payload))
        except InvalidMessage:  # of a later version
            self.note(ObjectsChanged())


class PublicLookup:
    """The question about one object, sent to the pool at `_sent_at` unless its answer is stored."""

    __slots__ = ("_cache", "_key", "_sent_at", "_version")

    def __init__(self, cache: LookupCache, key: str, sent_at: float) -> None:
        self._cache, self._key, self._sent_at = cache, key, sent_at
        self._version = ""

    def find(self) -> Response | None:
        """Return the stored response."""
        response = self._cache.find(self._key, self._sent_at)
        if response is not None and response.claim is not None:
            self._version = response.claim.blob.version
        return response

    @property
    def content(self) -> bytes | None:
        """The stored bytes of the object that `find` returned."""
        return self._cache.content(self._version)

    def store_content(self, content: bytes) -> None:
        """Store the bytes of the object that `find` returned."""
        self._cache.store_content(self._version, content)

    def store(self, response: Response) -> None:
        """Store the pool's response, if it allows that."""
        self._cache.store(self._key, self._sent_at, response)
