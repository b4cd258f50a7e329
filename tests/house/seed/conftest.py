"""One platform for the whole document, and those who call it."""

from collections.abc import Iterator

import httpx
import pytest

from tests.house.seed.callers import SCHEMA, SETTINGS, Caller, Person, Place, signed_up
from tests.platform import platform


@pytest.fixture(scope="package")
def place() -> Iterator[Place]:
    with platform(environment=SETTINGS) as one, httpx.Client(base_url=one.url, timeout=30) as client:
        done = one.command("psql", "-v", "ON_ERROR_STOP=1", "-qc", SCHEMA)
        assert done.returncode == 0, done.stderr
        one.wait_for_catalog("letters")
        key = one.values["SERVICE_ROLE_KEY"]
        yield Place(
            one,
            client,
            Caller(client, {"apikey": one.values["ANON_KEY"]}),
            Caller(client, {"apikey": key, "authorization": f"Bearer {key}"}),
        )


@pytest.fixture(scope="package")
def anon(place: Place) -> Caller:
    return place.anon


@pytest.fixture(scope="package")
def service(place: Place) -> Caller:
    return place.service


@pytest.fixture(scope="package")
def ada(place: Place) -> Person:
    return signed_up(place, "ada@example.com", {"team": "blue"})
