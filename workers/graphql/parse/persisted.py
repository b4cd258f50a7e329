"""Automatic persisted queries: documents that clients request by their hash.

A client first sends only the SHA-256 of a document. If the server does not know the hash it answers
`PersistedQueryNotFound`; the client then sends hash and document, and from then on the hash suffices. Each worker has
its own store, from which the least recently used documents are dropped. Workers need not share stores: a worker that
does not have a document answers that, and the client sends it again. Only documents that can be run are stored, and only
those that leave room for many others: a long one is run, and not stored.
"""

import hashlib

from workers.graphql.errors import GraphQLFailure
from workers.graphql.parse.body import GraphQLRequest

_MOST_BYTES = 16 << 20
_LONGEST = _MOST_BYTES // 64
"""Bytes of one stored document: as many as `graphql.max_document` allows by default."""


class PersistedQueries:
    """Documents by their hash, bounded in number and bytes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._texts: dict[str, str] = {}
        self._size = 0

    def document(self, request: GraphQLRequest) -> str:
        """Return the text of the requested document.

        Raises: GraphQLFailure if the hash is unknown, differs from the document's hash, or hashes are switched off.
        """
        if request.hash is None:
            return request.query or ""
        if self._capacity == 0:
            raise GraphQLFailure("PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED")
        if request.query is None:
            return self._find(request.hash)
        if hashlib.sha256(request.query.encode(errors="replace")).hexdigest() != request.hash:
            raise GraphQLFailure("provided sha does not match query")
        return request.query

    def store(self, request: GraphQLRequest) -> None:
        """Store the document of a request that came with its hash, which `document` has compared."""
        if request.hash is None or request.query is None:
            return
        size = len(request.query.encode(errors="replace"))
        if size > _LONGEST:
            return
        if self._texts.pop(request.hash, None) is None:
            self._size += size
        self._texts[request.hash] = request.query
        while len(self._texts) > self._capacity or self._size > _MOST_BYTES:
            self._size -= len(self._texts.pop(next(iter(self._texts))).encode(errors="replace"))

    def _find(self, sha256: str) -> str:
        text = self._texts.pop(sha256, None)
        if text is None:
            raise GraphQLFailure("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND")
        self._texts[sha256] = text
        return text
