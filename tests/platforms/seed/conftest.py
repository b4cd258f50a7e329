"""One platform for the whole document, and those who call it."""

from collections.abc import Iterator

import httpx
import pytest

from tests.platform import platform
from tests.platforms.seed.callers import SCHEMA, SETTINGS, Caller, Person, SeedPlatform, signed_up


@pytest.fixture(scope="package")
def seed_platform() -> Iterator[SeedPlatform]:
    with platform(environment=SETTINGS) as one, httpx.Client(base_url=one.url, timeout=30) as client:
        done = one.command("psql", "-v", "ON_ERROR_STOP=1", "-qc", SCHEMA)
        assert done.returncode == 0, done.stderr
        one.wait_for_catalog("letters")
        key = one.values["SERVICE_ROLE_KEY"]
        yield SeedPlatform(
            one,
            client,
            Caller(client, {"apikey": one.values["ANON_KEY"]}),
            Caller(client, {"apikey": key, "authorization": f"Bearer {key}"}),
        )


@pytest.fixture(scope="package")
def anon(seed_platform: SeedPlatform) -> Caller:
    return seed_platform.anon


@pytest.fixture(scope="package")
def service(seed_platform: SeedPlatform) -> Caller:
    return seed_platform.service


@pytest.fixture(scope="package")
def ada(seed_platform: SeedPlatform) -> Person:
    return signed_up(seed_platform, "ada@example.com", {"team": "blue"})
