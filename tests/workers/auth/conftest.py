"""One bootstrapped database for the tests of the accounts, and workers on it."""

from collections.abc import AsyncIterator

import pytest

from schemas.settings.tree import Settings
from tests.workers.auth.house import (
    OPEN,
    UNLIMITED,
    Clock,
    House,
    open_house,
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
from tests.workers.database.server import temporary_server
from workers.database.migrations.migrate import migrate


@pytest.fixture(scope="session")
async def database_url() -> AsyncIterator[str]:
    """URL of a database that has the accounts, for its superuser; one server for the whole run."""
    with temporary_server() as server:
        await migrate(server.url(), Settings())
        yield server.url()


@pytest.fixture(scope="session")
async def whole_house(database_url: str) -> AsyncIterator[House]:
    """A worker with default settings; one pool for the whole run."""
    async with open_house(database_url) as house:
        yield house


@pytest.fixture
def plain(whole_house: House) -> House:
    """A worker with the settings of a new project, but for rate limits, and a clock of the test's own."""
    return House(whole_house.context, whole_house.admin, Clock()).having(**UNLIMITED)


@pytest.fixture
def house(plain: House) -> House:
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
def mailed(house: House, office: Office) -> House:
    """A worker where addresses must be confirmed; its mails are caught, at any time."""
    return with_office(house, office).having(**CONFIRMED, **AT_ANY_TIME)


@pytest.fixture
def texted(mailed: House, phones: Phones) -> House:
    """The same with a provider of text messages."""
    return with_phones(mailed, phones)
