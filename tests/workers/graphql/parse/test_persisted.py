import hashlib

import pytest

from workers.graphql.errors import GraphQLFailure
from workers.graphql.parse.body import GraphQLRequest
from workers.graphql.parse.persisted import PersistedQueries


def known(text: str) -> GraphQLRequest:
    return GraphQLRequest(text, {}, hash=hashlib.sha256(text.encode()).hexdigest())


def stored(queries: PersistedQueries, text: str) -> None:
    queries.document(known(text))
    queries.store(known(text))


def hashed(text: str) -> GraphQLRequest:
    return GraphQLRequest(None, {}, hash=hashlib.sha256(text.encode()).hexdigest())


def test_the_least_recently_used_documents_are_dropped() -> None:
    queries = PersistedQueries(2)
    for text in ("{a}", "{b}"):
        stored(queries, text)
    queries.document(hashed("{a}"))
    stored(queries, "{c}")

    assert queries.document(hashed("{a}")) == "{a}"
    with pytest.raises(GraphQLFailure, match="PersistedQueryNotFound"):
        queries.document(hashed("{b}"))


def test_documents_are_bounded_in_bytes() -> None:
    queries = PersistedQueries(100)
    filling = "ü" * 130_000
    for n in range(66):
        stored(queries, f"#{n}{filling}")
    stored(queries, "#long" + filling * 2)

    for dropped in (f"#0{filling}", "#long" + filling * 2):
        with pytest.raises(GraphQLFailure, match="PersistedQueryNotFound"):
            queries.document(hashed(dropped))
    assert queries.document(hashed(f"#65{filling}"))


def test_a_hash_must_be_that_of_its_document() -> None:
    with pytest.raises(GraphQLFailure, match="provided sha does not match query"):
        PersistedQueries(1).document(GraphQLRequest("{a}", {}, hash="00"))


def test_the_protocol_can_be_switched_off() -> None:
    with pytest.raises(GraphQLFailure, match="PersistedQueryNotSupported"):
        PersistedQueries(0).document(known("{a}"))
