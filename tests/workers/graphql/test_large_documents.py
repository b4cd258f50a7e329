"""Large documents are parsed and planned in a thread, so that small ones do not wait for them."""

import threading
from collections.abc import Callable, Mapping

import pytest

from schemas.settings.tree import Settings
from tests.workers.graphql.graphql_service import API, GraphQLService
from workers.database.schema_cache.catalog import Catalog
from workers.graphql import role
from workers.graphql.parse.document import Document
from workers.graphql.parse.limits import OperationLimits
from workers.graphql.state import GraphQLState, ParsedDocuments

MANY = "{ " + " ".join(f"a{n}: accountCollection {{ edges {{ cursor }} }}" for n in range(40)) + " }"
LONG = "{ accountCollection { edges { cursor } } }" + " " * 5000


@pytest.fixture
def watched(service: GraphQLService) -> tuple[GraphQLService, Callable[[], set[str]]]:
    """Return a service, and a function that returns the names of the threads that parsed documents."""
    service_with_log = GraphQLService.make(service.pool)
    threads: list[str] = []
    documents = ParsedDocuments(service_with_log.state.limits)

    def parse(text: str) -> Document:
        threads.append(threading.current_thread().name)
        return documents(text)

    state = GraphQLState(API, Settings(), Catalog(), service.pool, parse)
    service_with_log.worker._state = lambda: state
    return service_with_log, lambda: set(threads)


async def test_a_long_document_is_parsed_in_a_thread(
    watched: tuple[GraphQLService, Callable[[], set[str]]],
) -> None:
    service, threads = watched

    await service.data(LONG)

    assert {name.partition("_")[0] for name in threads()} == {"graphql"}


async def test_a_short_document_is_parsed_at_once(
    watched: tuple[GraphQLService, Callable[[], set[str]]],
) -> None:
    service, threads = watched

    await service.data("{ accountCollection { edges { cursor } } }")

    assert threads() == {threading.current_thread().name}


async def test_documents_with_many_fields_and_large_bodies_are_answered_as_usual(
    service: GraphQLService, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    plan_key = role._plan_key

    def key_of(cached: role.CachedOperation, variables: Mapping[str, object]) -> object:
        if len(str(variables)) > 100_000:
            threads.append(threading.current_thread().name)
        return plan_key(cached, variables)

    monkeypatch.setattr(role, "_plan_key", key_of)
    insert = (
        "mutation($o: [AccountInsertInput!]!) { insertIntoAccountCollection(objects: $o) { affectedCount } }"
    )
    rows = [{"email": f"{n}@aside.com", "plan": "x" * 100} for n in range(3000)]

    many = await service.data(MANY)
    again = await service.data(MANY)
    inserted = await service.data(insert, {"o": rows})
    await service.data(
        'mutation { deleteFromAccountCollection(filter: {email: {like: "%@aside.com"}}, atMost: 3000) { affectedCount } }'
    )

    assert many == again
    assert len(many) == 40
    assert inserted["insertIntoAccountCollection"]["affectedCount"] == 3000
    assert {name.partition("_")[0] for name in threads} == {"graphql"}


def test_documents_are_kept_up_to_a_number_of_characters() -> None:
    documents = ParsedDocuments(OperationLimits())
    texts = [f"{{ a{number} }} #{'x' * 30_000}" for number in range(50)]

    parsed = [documents(text) for text in texts]

    assert documents(texts[-1]) is parsed[-1]
    assert documents(texts[0]) is not parsed[0]
