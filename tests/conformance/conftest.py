"""One platform for the official clients, with their tables in it."""

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import jwt
import pytest

from tests.conformance import confirming
from tests.conformance.auth_callers import People, http_session
from tests.conformance.callers import KINDS, Caller, connect
from tests.conformance.storage_callers import Files
from tests.node_packages import install_packages
from tests.platform import Platform, platform

HERE = Path(__file__).parent

SETTINGS = {
    "HEADWATER_API_SCHEMAS": "public,graphql_public,warehouse",
    "HEADWATER_API_TX_END": "commit-allow-override",
    "HEADWATER_API_PLAN_ENABLED": "true",
    "HEADWATER_API_AGGREGATES_ENABLED": "true",
    "HEADWATER_AUTH_ENABLE_ANONYMOUS_SIGN_INS": "true",
    "HEADWATER_AUTH_RATE_LIMIT_ANONYMOUS_USERS": "10000",
    "HEADWATER_AUTH_RATE_LIMIT_SIGN_IN_SIGN_UPS": "10000",
    "HEADWATER_AUTH_RATE_LIMIT_TOKEN_REFRESH": "10000",
    "HEADWATER_AUTH_RATE_LIMIT_TOKEN_VERIFICATIONS": "10000",
    "HEADWATER_AUTH_EMAIL_MAX_FREQUENCY": "1m",
}


@pytest.fixture(scope="session")
def client_platform() -> Iterator[Platform]:
    """A platform on the embedded default that allows all that the clients offer, with their schema in it."""
    with platform(environment=SETTINGS) as one:
        done = one.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(HERE / "schema.sql"))
        assert done.returncode == 0, done.stderr
        one.wait_for_catalog("parcels")
        yield one


@pytest.fixture(scope="session")
def accounts(client_platform: Platform) -> Platform:
    """The same platform with what a project builds on its accounts: policies, and triggers on sign-up."""
    done = client_platform.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(HERE / "auth_schema.sql"))
    assert done.returncode == 0, done.stderr
    client_platform.wait_for_catalog("profiles")
    return client_platform


@pytest.fixture(scope="session")
def stored(accounts: Platform) -> Platform:
    """The same platform with what a project builds on its storage: buckets and policies."""
    done = accounts.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(HERE / "storage_schema.sql"))
    assert done.returncode == 0, done.stderr
    return accounts


@pytest.fixture(scope="session")
def abroad() -> Iterator[str]:
    """The URL of an OpenID provider on this machine."""
    with confirming.provider() as url:
        yield url


@pytest.fixture(scope="session")
def confirming_accounts(abroad: str) -> Iterator[Platform]:
    """A platform on which addresses are confirmed, and every way in but SAML is open."""
    with platform(environment=confirming.settings(abroad)) as one:
        done = one.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(HERE / "auth_schema.sql"))
        assert done.returncode == 0, done.stderr
        one.wait_for_catalog("profiles")
        yield one


@pytest.fixture(scope="session")
def node_modules() -> None:
    """Install the pinned JavaScript clients."""
    install_packages(HERE)


@pytest.fixture(scope="session")
def tokens(client_platform: Platform) -> dict[str, str]:
    """Access tokens of two people, and one that has expired, signed with the platform's secret."""
    secret, now = client_platform.values["JWT_SECRET"], int(time.time())
    claims = {"role": "authenticated", "aud": "authenticated"}
    people = {"ada": ("ada", now + 3600), "bob": ("bob", now + 3600), "expired": ("ada", now - 3600)}
    return {
        f"TOKEN_{name.upper()}": jwt.encode({**claims, "sub": who, "exp": until}, secret, algorithm="HS256")
        for name, (who, until) in people.items()
    }


@pytest.fixture(scope="session", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which of the two forms of the Python client."""
    return str(request.param)


@pytest.fixture(scope="session")
async def db(kind: str, client_platform: Platform) -> AsyncIterator[Caller]:
    """The Python client with the key of the service."""
    one = await connect(kind, client_platform.url, client_platform.values["SERVICE_ROLE_KEY"])
    yield one
    await one.close()


@pytest.fixture(scope="session")
async def persons(kind: str, accounts: Platform) -> AsyncIterator[People]:
    """Makes people with accounts, who use the Python client."""
    async with http_session(kind) as session:
        yield People(kind, accounts, session)


@pytest.fixture(scope="session")
async def files(persons: People, stored: Platform) -> AsyncIterator[Files]:
    """The storage in the hands of a server, and of the people of a test, who use the Python client."""
    one = await Files.open(persons)
    yield one
    await one.close()


@pytest.fixture(scope="session")
async def new_users(kind: str, confirming_accounts: Platform) -> AsyncIterator[People]:
    """Makes people on the platform that confirms addresses, who use the Python client."""
    async with http_session(kind) as session:
        yield People(kind, confirming_accounts, session)


@pytest.fixture
async def parcels(db: Caller) -> AsyncIterator[None]:
    """The tables to write in, emptied behind the test."""
    yield
    await db.run(db.table("parcels").delete().gte("id", 0))
    await db.run(db.table("readings").delete().gte("hour", 0))


@pytest.fixture
async def people(
    kind: str, client_platform: Platform, tokens: dict[str, str]
) -> AsyncIterator[dict[str, Caller]]:
    """Clients by name: of two people, of one whose token has expired, and of nobody."""
    key = client_platform.values["ANON_KEY"]
    clients = {"nobody": await connect(kind, client_platform.url, key)}
    for name, token in tokens.items():
        headers = {"Authorization": f"Bearer {token}"}
        clients[name.removeprefix("TOKEN_").lower()] = await connect(
            kind, client_platform.url, key, headers=headers
        )
    yield clients
    for each in clients.values():
        await each.close()
