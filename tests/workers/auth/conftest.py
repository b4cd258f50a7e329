"""One bootstrapped database for the tests of the accounts, and workers on it."""

from collections.abc import AsyncIterator

import pytest

from tests.workers.auth.auth_pool import (
    OPEN,
    UNLIMITED,
    AuthPool,
    Clock,
    open_auth_pool,
)
from tests.workers.auth.office import (
    AT_ANY_TIME,
    CONFIRMED,
    Office,
    Phones,
    open_office,
    open_phones,
    with_office,
    with_phones,
)
from tests.workers.database.server import migrated_server


@pytest.fixture(scope="session")
async def database_url() -> AsyncIterator[str]:
    """URL of a database that has the accounts, for its superuser; one server for the whole run."""
    with migrated_server() as server:
        yield server.url()


@pytest.fixture(scope="session")
async def whole_auth_pool(database_url: str) -> AsyncIterator[AuthPool]:
    """A worker with default settings; one pool for the whole run."""
    async with open_auth_pool(database_url) as auth_pool:
        yield auth_pool


@pytest.fixture
def plain(whole_auth_pool: AuthPool) -> AuthPool:
    """A worker with the settings of a new project, but for rate limits, and a clock of the test's own."""
    return AuthPool(whole_auth_pool.context, whole_auth_pool.admin, Clock()).having(**UNLIMITED)


@pytest.fixture
def auth_pool(plain: AuthPool) -> AuthPool:
    """A worker where every way in that is built is open."""
    return plain.having(**OPEN)


@pytest.fixture(scope="session")
async def whole_office() -> AsyncIterator[Office]:
    """A mail catcher for the whole run."""
    async with open_office() as office:
        yield office


@pytest.fixture
def office(whole_office: Office) -> Office:
    """The mail catcher, empty."""
    whole_office.caught.clear()
    return whole_office


@pytest.fixture
async def phones() -> AsyncIterator[Phones]:
    """A provider of text messages."""
    async with open_phones() as phones:
        yield phones


@pytest.fixture
def mailed(auth_pool: AuthPool, office: Office) -> AuthPool:
    """A worker where addresses must be confirmed; its mails are caught, at any time."""
    return with_office(auth_pool, office).having(**CONFIRMED, **AT_ANY_TIME)


@pytest.fixture
def texted(mailed: AuthPool, phones: Phones) -> AuthPool:
    """The same with a provider of text messages."""
    return with_phones(mailed, phones)
