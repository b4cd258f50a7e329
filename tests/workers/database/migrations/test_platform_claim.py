"""A second platform on one outside database is refused by the name of the first, as long as that one works."""

import contextlib
from collections.abc import AsyncIterator, Iterator

import asyncpg
import msgspec
import pytest

from schemas.keys.secret import Secret
from schemas.platform_identity import PlatformIdentity
from schemas.settings.tree import Settings
from tests.workers.database.server import Server, migrated_server
from workers.database.migrations import platform_claim
from workers.database.migrations.migrate import MigrationError, migrate
from workers.database.migrations.platform_claim import (
    PlatformClaim,
    PlatformSession,
    SharedKeys,
    refusal,
    shared_keys,
)

_FIRST = PlatformIdentity("a" * 32, "one", "/data/one", has_own_broker=True)
_SECOND = PlatformIdentity("b" * 32, "two", "/data/two", has_own_broker=True)
_MACHINE = PlatformIdentity(host="three")
_SAME = SharedKeys(cuts_off=False, passwords=True, sealing=True)
_OTHER = SharedKeys(cuts_off=True, passwords=False, sealing=False)
_HERE = PlatformSession("postgres", is_here=True, address="10.0.0.1", silent_s=3.2)
_ELSEWHERE = PlatformSession("shop", is_here=False, address="10.0.0.2", silent_s=1)


def _passwords(word: str) -> Settings:
    """Return settings in which every login has a password of its own."""
    own = {
        name: Secret(f"{word} of {name}")
        for name in (
            "password",
            "authenticator_password",
            "auth_admin_password",
            "storage_admin_password",
            "scheduler_password",
            "management_password",
        )
    }
    settings = Settings()
    return msgspec.structs.replace(
        settings,
        db=msgspec.structs.replace(settings.db, **own),
        realtime=msgspec.structs.replace(settings.realtime, login_password=Secret(f"{word} of realtime")),
    )


@pytest.mark.parametrize(
    ("platform", "first", "keys", "sessions", "words"),
    [
        (_SECOND, _FIRST, _OTHER, [_HERE], "aaaaaaaa in /data/one on one works with this database (last seen 3 s ago)"),
        (_SECOND, _FIRST, _SAME, [_HERE], "a NATS server of its own"),
        (_MACHINE, _FIRST, _OTHER, [_HERE], "It has other keys"),
        (_FIRST, _MACHINE, _OTHER, [_HERE], "the platform on three works"),
        (_SECOND, _FIRST, _OTHER, [_ELSEWHERE], "the database shop of this server, from 10.0.0.2"),
        (_SECOND, None, _OTHER, [_ELSEWHERE], "Logins belong"),
        (_SECOND, _FIRST, _OTHER, [], ""),  # it was stopped, or was killed
        (_FIRST, _FIRST, _OTHER, [_HERE], ""),  # the same data folder, with new passwords
        (_FIRST, _FIRST, SharedKeys(True, True, False), [_HERE, _ELSEWHERE], ""),  # one password is exchanged
        (_MACHINE, _MACHINE, _SAME, [_HERE], ""),  # machines of one deployment
        (_MACHINE, PlatformIdentity(host="four"), SharedKeys(True, False, True), [_HERE], ""),  # new passwords, the sealing key stays
        (_SECOND, None, _OTHER, [_HERE], ""),  # an earlier version wrote no name
    ],
)  # fmt: skip
def test_what_is_refused(platform, first, keys, sessions, words):
    claim = PlatformClaim(first, 0) if first else None

    reason = refusal(platform, claim, keys, sessions)

    assert words in reason
    assert bool(reason) == bool(words)


def test_a_password_that_several_logins_share_by_default_makes_no_deployment():
    """Two projects may both have the development password."""
    rows = [(("password", "authenticator"), None), (("decision", "sealing_key"), "sealing-1/")]

    assert shared_keys(rows, Settings(), "/") == SharedKeys(cuts_off=False, passwords=False, sealing=False)
    assert shared_keys(rows, Settings(), "sealing-1/x").sealing


@pytest.fixture
def server() -> Iterator[Server]:
    with migrated_server() as running:
        yield running


@contextlib.asynccontextmanager
async def _working(url: str) -> AsyncIterator[None]:
    """Open a session as a process of a pool does."""
    connection = await asyncpg.connect(url, server_settings={"application_name": "headwater schema cache"})
    try:
        yield
    finally:
        await connection.close()


async def test_the_first_platform_goes_on_and_the_second_starts_when_it_has_ended(server, monkeypatch):
    first, second = _passwords("first"), _passwords("second")
    login = server.url("authenticator", "first of authenticator_password")
    await migrate(server.url(), first, platform=_FIRST)

    async with _working(login):
        with pytest.raises(MigrationError, match="in /data/one on one works with this database"):
            await migrate(server.url(), second, platform=_SECOND)
        await migrate(server.url(), _passwords("renewed"), platform=_FIRST)
    await migrate(server.url(), first, platform=_FIRST)
    async with _working(login):
        pass  # its password is still the first one's
    monkeypatch.setattr(platform_claim, "_STARTING_S", 0.0)
    await migrate(server.url(), second, platform=_SECOND)
    async with _working(server.url("authenticator", "second of authenticator_password")):
        with pytest.raises(MigrationError, match="in /data/two on two"):
            await migrate(server.url(), first, platform=_FIRST)


async def test_a_platform_that_is_about_to_open_its_sessions_is_waited_for(server, monkeypatch):
    reports: list[str] = []
    sessions = contextlib.AsyncExitStack()

    async def first_opens(_seconds: float) -> None:
        await sessions.enter_async_context(
            _working(server.url("authenticator", "first of authenticator_password"))
        )

    await migrate(server.url(), _passwords("first"), platform=_FIRST)
    monkeypatch.setattr(platform_claim.asyncio, "sleep", first_opens)
    async with sessions:
        with pytest.raises(MigrationError, match="works with this database"):
            await migrate(server.url(), _passwords("second"), report=reports.append, platform=_SECOND)

    assert len(reports) == 1
