"""Automatic persisted queries: documents that clients request by their hash.

A client first sends only the SHA-256 of a document. If the server does not know the hash it answers
`PersistedQueryNotFound`; the client then sends hash and document, and from then on the hash suffices. Each worker has
its own store, from which the least recently used documents are dropped. Workers need not share stores: a worker that
does not have a document answers that, and the client sends it again.
"""

import hashlib

from workers.graphql.errors import GraphQLFailure
from workers.graphql.parse.body import GraphQLRequest

_MOST_BYTES = 16 << 20


class PersistedQueries:
    """Documents by their hash, bounded in number and bytes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._texts: dict[str, str] = {}
        self._size = 0

    def document(self, request: GraphQLRequest) -> str:
        """Return the text of the requested document, and store it if its hash came with it.

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
        self._store(request.hash, request.query)
        return request.query

    def _find(self, sha256: str) -> str:
        text = self._texts.pop(sha256, None)
        if text is None:
            raise GraphQLFailure("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND")
        self._texts[sha256] = text
        return text

    def _store(self, sha256: str, text: str) -> None:
        if self._texts.pop(sha256, None) is None:
            self._size += len(text)
        self._texts[sha256] = text
        while len(self._texts) > self._capacity or self._size > _MOST_BYTES:
            self._size -= len(self._texts.pop(next(iter(self._texts))))
