"""Documents that clients know by their hash: the protocol of automatic persisted queries.

A client sends the SHA-256 of a document alone. Who does not know it says `PersistedQueryNotFound`; then the client sends
hash and document, and from there on the hash is enough. Each worker has a store of its own, the least recently used make
room: a worker that never saw a document asks for it, so the protocol itself brings several workers into step.
"""

import hashlib

from workers.graphql.errors import GraphQLFailure
from workers.graphql.parse.body import Asked

_MOST_BYTES = 16 << 20


class PersistedQueries:
    """Documents by their hash, bounded in number and bytes."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._texts: dict[str, str] = {}
        self._size = 0

    def document(self, asked: Asked) -> str:
        """Give the text of the document that is asked for, and keep it if its hash came with it.

        Raises: GraphQLFailure for a hash that is not known, not the document's, or not wanted.
        """
        if asked.hash is None:
            return asked.query or ""
        if self._kept == 0:
            raise GraphQLFailure("PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED")
        if asked.query is None:
            return self._find(asked.hash)
        if hashlib.sha256(asked.query.encode(errors="replace")).hexdigest() != asked.hash:
            raise GraphQLFailure("provided sha does not match query")
        self._keep(asked.hash, asked.query)
        return asked.query

    def _find(self, sha256: str) -> str:
        text = self._texts.pop(sha256, None)
        if text is None:
            raise GraphQLFailure("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND")
        self._texts[sha256] = text
        return text

    def _keep(self, sha256: str, text: str) -> None:
        if self._texts.pop(sha256, None) is None:
            self._size += len(text)
        self._texts[sha256] = text
        while len(self._texts) > self._kept or self._size > _MOST_BYTES:
            self._size -= len(self._texts.pop(next(iter(self._texts))))
