"""Large documents are worked on aside, so that small ones do not wait for them."""

import threading
from collections.abc import Callable

import pytest

from schemas.settings.tree import Settings
from tests.workers.graphql.house import API, House
from workers.database.schema_cache.catalog import Catalog
from workers.graphql.parse.document import Document
from workers.graphql.state import Documents, State

MANY = "{ " + " ".join(f"a{n}: accountCollection {{ edges {{ cursor }} }}" for n in range(40)) + " }"
LONG = "{ accountCollection { edges { cursor } } }" + " " * 5000


@pytest.fixture
def watched(house: House) -> tuple[House, Callable[[], set[str]]]:
    """Give a house that remembers in which threads documents were parsed."""
    made = House.make(house.pool)
    threads: list[str] = []
    documents = Documents(made.state.limits)

    def parse(text: str) -> Document:
        threads.append(threading.current_thread().name)
        return documents(text)

    state = State(API, Settings(), Catalog(), house.pool, parse)
    made.worker._state = lambda: state
    return made, lambda: set(threads)


async def test_a_long_document_is_parsed_in_a_thread(
    watched: tuple[House, Callable[[], set[str]]],
) -> None:
    house, threads = watched

    await house.data(LONG)

    assert {name.partition("_")[0] for name in threads()} == {"graphql"}


async def test_a_short_document_is_parsed_at_once(watched: tuple[House, Callable[[], set[str]]]) -> None:
    house, threads = watched

    await house.data("{ accountCollection { edges { cursor } } }")

    assert threads() == {threading.current_thread().name}


async def test_documents_with_many_fields_and_large_bodies_are_answered_as_others_are(house: House) -> None:
    insert = (
        "mutation($o: [AccountInsertInput!]!) { insertIntoAccountCollection(objects: $o) { affectedCount } }"
    )
    rows = [{"email": f"{n}@aside.com", "plan": "x" * 100} for n in range(3000)]

    many = await house.data(MANY)
    again = await house.data(MANY)
    inserted = await house.data(insert, {"o": rows})
    await house.data(
        'mutation { deleteFromAccountCollection(filter: {email: {like: "%@aside.com"}}, atMost: 3000) { affectedCount } }'
    )

    assert many == again
    assert len(many) == 40
    assert inserted["insertIntoAccountCollection"]["affectedCount"] == 3000
