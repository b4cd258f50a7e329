"""The schema cache against a real server: notices, bursts, broken connections and failing reads."""

import asyncio
import contextlib
import os
import signal
from urllib.parse import urlsplit

import pytest

from broker.backoff import Backoff
from broker.observability.observations import CatalogReloaded, CatalogReloadFailed, DatabaseBack, DatabaseLost
from schemas.settings.tree import Api
from tests.workers.database.connections import until
from tests.workers.database.introspection_fixtures import (
    as_role,
    connected,
    fresh_database,
    in_database,
    login_role,
)
from tests.workers.database.standby import Address
from workers.database.schema_cache.cache import SchemaCache
from workers.database.schema_cache.database_options import OptionsIgnored, OptionsReloadFailed

LOGIN = "cache_login"
DEADLINE_S = 60

SCHEMA = """
create table public.first (id int primary key);
create schema other; create table other.elsewhere (id int primary key);
create function public.set_options() returns void language sql as
  $$ select set_config('pgrst.db_schemas', 'other', true), set_config('pgrst.max_rows', '5', true) $$;
create function public.fail() returns void language plpgsql as $$ begin raise 'no options today'; end $$;
"""


class ObservedCache:
    """A cache with what it told: each new catalog and configuration as an event to await."""

    def __init__(self, url, **options):
        self.told = []
        self.catalogs = asyncio.Queue()
        self.configs = asyncio.Queue()
        self._news = asyncio.Event()
        self.cache = SchemaCache(url, Api(schemas=["public"], extra_search_path=[], **options), self.observe)
        self.cache.on_change(self.catalogs.put_nowait)
        self.cache.on_config(self.configs.put_nowait)

    def observe(self, observation):
        self.told.append(observation)
        self._news.set()

    def all_of(self, kind):
        return [each for each in self.told if isinstance(each, kind)]

    async def next_catalog(self):
        return await within(self.catalogs.get())

    async def next_config(self):
        return await within(self.configs.get())

    async def until_told(self, kind, count=1):
        """Wait until so many observations of a kind were made."""
        while len(self.all_of(kind)) < count:
            self._news.clear()
            await within(self._news.wait())
        return self.all_of(kind)[count - 1]

    async def until_catalog(self, condition):
        """Wait for a catalog of which the condition holds."""
        while True:
            catalog = await self.next_catalog()
            if condition(catalog):
                return catalog


async def within(awaitable):
    async with asyncio.timeout(DEADLINE_S):
        return await awaitable


@pytest.fixture
async def database(server):
    """A fresh database; its login role begins without options."""
    async with fresh_database(server.url, login_role(LOGIN, "cache_web"), SCHEMA) as url:
        yield url
    async with connected(server.url) as connection:
        await connection.execute(f"alter role {LOGIN} reset all")


@contextlib.asynccontextmanager
async def loaded(url, **options):
    watched = ObservedCache(as_role(url, LOGIN), **options)
    await within(watched.cache.load())
    try:
        yield watched
    finally:
        await watched.cache.close()


async def execute(url, sql):
    async with connected(url) as connection:
        await connection.execute(sql)


async def test_loading_gives_the_first_catalog(database):
    watched = ObservedCache(as_role(database, LOGIN))
    assert not watched.cache.is_loaded
    assert watched.cache.catalog.version == 0

    await within(watched.cache.load())

    assert watched.cache.is_loaded
    assert watched.cache.is_following
    assert watched.cache.last_error is None
    assert ("public", "first") in watched.cache.catalog.relations
    assert watched.cache.catalog == await watched.next_catalog()
    (told,) = watched.all_of(CatalogReloaded)
    assert (told.version, told.relations) == (1, 1)
    assert watched.cache.is_connected
    await watched.cache.close()
    assert not watched.cache.is_following
    assert not watched.cache.is_connected


async def test_a_notice_brings_a_new_catalog(database):
    async with loaded(database) as watched:
        before = await watched.next_catalog()
        await execute(database, "create table second (id int); notify pgrst, 'reload schema'")

        after = await watched.next_catalog()

        assert ("public", "second") in after.relations
        assert after.version == before.version + 1
        assert watched.cache.catalog is after


async def test_every_event_trigger_notice_of_a_burst_is_seen_in_the_end(database):
    async with loaded(database) as watched:
        await watched.next_catalog()
        async with connected(database) as connection:
            for number in range(20):
                await connection.execute(f"create table burst{number} (); notify pgrst, 'reload schema'")

        last = await watched.until_catalog(lambda catalog: ("public", "burst19") in catalog.relations)

        assert last.version < 21


async def test_a_notice_with_another_payload_or_channel_is_ignored(database):
    async with loaded(database) as watched:
        await watched.next_catalog()
        await execute(database, "notify pgrst, 'something else'; notify other_channel, 'reload schema'")
        await execute(database, "notify pgrst, 'reload schema'")

        assert (await watched.next_catalog()).version == 2
        assert watched.catalogs.empty()


async def test_a_notice_of_the_configuration_reads_options_only(database):
    async with loaded(database) as watched:
        await watched.next_catalog()
        await execute(
            database, f"alter role {LOGIN} set pgrst.db_max_rows = '7'; notify pgrst, 'reload config'"
        )

        assert (await watched.next_config()).max_rows == 7
        assert watched.cache.api.max_rows == 7
        assert watched.cache.catalog.version == 1


async def test_a_notice_without_payload_reads_both(database):
    async with loaded(database) as watched:
        await watched.next_catalog()
        await execute(
            database, f"create table second (); alter role {LOGIN} set pgrst.max_rows = '8'; notify pgrst"
        )

        assert (await watched.next_config()).max_rows == 8
        assert ("public", "second") in (await watched.next_catalog()).relations


async def test_options_for_the_database_win_and_others_schemas_are_read(database):
    name = database.rpartition("/")[2]
    await execute(
        database,
        f"""alter role {LOGIN} set pgrst.db_schemas = 'public';
        alter role {LOGIN} set pgrst.jwt_aud = 'general';
        alter role {LOGIN} in database "{name}" set pgrst.db_schemas = 'other'""",
    )

    async with loaded(database) as watched:
        assert watched.cache.api.schemas == ["other"]
        assert watched.cache.api.jwt.audience == "general"
        assert set(watched.cache.catalog.relations) == {("other", "elsewhere")}


async def test_other_schemas_bring_another_catalog_at_once(database):
    async with loaded(database) as watched:
        await watched.next_catalog()
        await execute(
            database, f"alter role {LOGIN} set pgrst.db_schemas = 'other'; notify pgrst, 'reload config'"
        )

        assert ("other", "elsewhere") in (await watched.next_catalog()).relations


async def test_options_taken_back_give_way_to_the_settings(database):
    await execute(database, f"alter role {LOGIN} set pgrst.max_rows = '7'")
    async with loaded(database) as watched:
        assert (await watched.next_config()).max_rows == 7
        await execute(database, f"alter role {LOGIN} reset pgrst.max_rows; notify pgrst, 'reload config'")

        assert (await watched.next_config()).max_rows == Api().max_rows


async def test_a_pre_config_function_sets_options_that_the_roles_own_overrule(database):
    await execute(database, f"alter role {LOGIN} set pgrst.max_rows = '6'")
    async with loaded(database, pre_config="public.set_options") as watched:
        assert watched.cache.api.schemas == ["other"]
        assert watched.cache.api.max_rows == 6
        await execute(database, f"alter role {LOGIN} reset pgrst.max_rows; notify pgrst, 'reload config'")
        await watched.next_config()

        assert (await watched.next_config()).max_rows == 5


async def test_options_that_cannot_be_used_are_told_and_ignored(database):
    await execute(database, f"alter role {LOGIN} set pgrst.max_rows = 'many'")
    async with loaded(database) as watched:
        (told,) = watched.all_of(OptionsIgnored)

        assert "pgrst.max_rows" in told.reasons[0]
        assert watched.cache.api.max_rows == Api().max_rows


async def test_a_failing_pre_config_function_is_told_and_the_catalog_read_nevertheless(database):
    async with loaded(database, pre_config="public.fail") as watched:
        assert ("public", "first") in watched.cache.catalog.relations
        assert "no options today" in (await watched.until_told(OptionsReloadFailed)).reason
        await execute(
            database, "create or replace function public.fail() returns void language sql as ''; notify pgrst"
        )
        await watched.until_catalog(lambda catalog: catalog.version > 1)

        assert watched.cache.last_error is None


async def test_a_failed_read_keeps_the_old_catalog_and_is_tried_again(database):
    await execute(database, "create view v as select 1 as a")
    async with loaded(database) as watched:
        before = await watched.next_catalog()
        async with connected(database) as migration:
            transaction = migration.transaction()
            await transaction.start()
            await migration.execute("drop view v")
            await execute(database, "notify pgrst, 'reload schema'")
            told = await watched.until_told(CatalogReloadFailed)

            assert "LockNotAvailable" in told.reason
            assert watched.cache.catalog is before
            assert watched.cache.is_loaded
            assert watched.cache.is_connected
            assert "lock" in (watched.cache.last_error or "")
            await transaction.commit()

        after = await watched.next_catalog()
        assert ("public", "v") not in after.relations
        assert watched.cache.last_error is None


async def test_a_broken_connection_is_made_again_and_everything_read_anew(database):
    async with loaded(database) as watched:
        await watched.next_catalog()
        await execute(
            database,
            f"""create table while_away ();
            select pg_terminate_backend(pid) from pg_stat_activity
            where usename = '{LOGIN}' and datname = current_database()""",
        )

        back = await watched.until_catalog(lambda catalog: ("public", "while_away") in catalog.relations)
        await execute(database, "create table afterwards (); notify pgrst, 'reload schema'")
        later = await watched.until_catalog(lambda catalog: ("public", "afterwards") in catalog.relations)

        assert 1 < back.version < later.version
        assert watched.all_of(DatabaseLost)
        assert watched.all_of(DatabaseBack)


async def test_the_session_that_read_is_replaced_when_it_is_idle_and_notices_still_arrive(
    database, monkeypatch: pytest.MonkeyPatch
):
    """The server keeps megabytes of what a session has read from the catalogs until it ends."""
    monkeypatch.setattr("workers.database.schema_cache.cache._PROBE_S", 0.2)
    async with connected(database) as connection:

        async def sessions() -> set[int]:
            rows = await connection.fetch(
                "select pid from pg_stat_activity where application_name = 'headwater schema cache' "
                "and datname = current_database()"
            )
            return {row["pid"] for row in rows}

        async with loaded(database) as watched:
            await watched.next_catalog()
            session = watched.cache._session
            read_in = session.get_server_pid()
            async with asyncio.timeout(DEADLINE_S):
                while read_in in await sessions() or len(await sessions()) != 1:
                    await asyncio.sleep(0.02)

            await connection.execute("create table later (); notify pgrst, 'reload schema'")
            catalog = await watched.until_catalog(lambda new: ("public", "later") in new.relations)

            assert ("public", "later") in catalog.relations
            assert not watched.all_of(DatabaseLost)


async def test_loading_waits_for_a_database_that_is_not_there_yet(server):
    name = "cache_that_comes_late"
    await execute(server.url, login_role(LOGIN))
    watched = ObservedCache(as_role(in_database(server.url, name), LOGIN))
    loading = asyncio.create_task(watched.cache.load())
    try:
        lost = await watched.until_told(DatabaseLost)
        assert not watched.cache.is_loaded
        assert not watched.cache.is_connected
        assert "authenticator" not in lost.reason.replace(LOGIN, "")
        await execute(server.url, f"create database {name}")

        await within(loading)

        assert watched.cache.is_loaded
    finally:
        loading.cancel()
        await watched.cache.close()
        await execute(server.url, f"drop database if exists {name} with (force)")


async def test_giving_up_while_loading_leaves_nothing_behind(server):
    watched = ObservedCache(as_role(in_database(server.url, "cache_of_nothing"), LOGIN))
    loading = asyncio.create_task(watched.cache.load())
    await watched.until_told(DatabaseLost)

    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading

    assert not watched.cache.is_following


async def test_a_reload_can_be_asked_for(database):
    async with loaded(database) as watched:
        await watched.next_catalog()
        await execute(database, "create table second ()")

        watched.cache.request_reload()

        assert ("public", "second") in (await watched.next_catalog()).relations


async def test_a_request_that_comes_during_a_failing_attempt_shortens_the_pause_after_it(server):
    """A pool whose database is back asks for a read while the cache's own attempt is about to fail."""
    attempts = []

    class Silent(asyncio.Protocol):
        def connection_made(self, transport):
            attempts.append(transport)

    listener = await asyncio.get_running_loop().create_server(Silent, "127.0.0.1", 0)
    address = Address()
    await address.open()
    parts = urlsplit(server.url)
    url = parts._replace(netloc=parts.netloc.replace(f":{parts.port}", f":{address.port}")).geturl()
    address.point(listener.sockets[0].getsockname()[1])
    watched = ObservedCache(url)
    watched.cache._backoff = Backoff(3600, 3600)
    loading = asyncio.ensure_future(watched.cache.load())
    try:
        await until(lambda: attempts)
        watched.cache.request_reload()
        address.point(parts.port)  # cuts the attempt off

        await within(loading)
        assert watched.cache.is_connected
    finally:
        loading.cancel()
        await watched.cache.close()
        await address.close()
        listener.close()


async def test_who_needs_a_newer_catalog_waits_for_the_read_that_is_due(database):
    async with loaded(database) as watched:
        await watched.next_catalog()
        nothing_is_due = await within(watched.cache.catch_up())
        await execute(database, "create table second (id int)")
        watched.cache.request_reload(options=False)

        is_newer = await within(watched.cache.catch_up())

        assert (nothing_is_due, is_newer) == (False, True)
        assert ("public", "second") in watched.cache.catalog.relations


async def test_a_change_that_was_committed_before_is_known_however_late_its_notification_is(database):
    async with loaded(database) as watched:
        await watched.next_catalog()
        await until(lambda: watched.cache.is_connected)
        async with connected(database) as connection:
            backend = await connection.fetchval(
                "select pid from pg_stat_activity where application_name = 'headwater schema cache' and datname = current_database()"
            )
        os.kill(backend, signal.SIGSTOP)  # it announces nothing
        try:
            await execute(database, "create table late (id int); notify pgrst, 'reload schema'")
            caught_up = asyncio.create_task(watched.cache.catch_up())
            await asyncio.sleep(0)  # it has asked
        finally:
            os.kill(backend, signal.SIGCONT)

        assert await within(caught_up)
        assert ("public", "late") in watched.cache.catalog.relations
