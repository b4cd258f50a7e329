"""What an upgrade would change, tried and taken back; and a database that is newer than we are."""

import asyncpg
import pytest

from schemas.settings.tree import Settings
from tests.workers.database.released import apply_released, released_migrations
from tests.workers.database.server import Server, connected, fresh_database
from workers.database.migrations.files import read_superseded
from workers.database.migrations.migrate import MigrationError, SystemMigration, migrate, read_migrations
from workers.database.migrations.upgrade import (
    DatabaseTooNew,
    UpgradeReport,
    differences,
    rehearse,
    report_lines,
    run,
    upgrade,
)

OURS = read_migrations()
FIRST = SystemMigration(
    "trial", 1, "things", "-- Things.\n-- as: superuser\ncreate table public.things (id int)"
)
SECOND = SystemMigration(
    "trial",
    2,
    "more",
    "-- More of them, and a look at them.\n-- as: superuser\nalter table public.things add name text; create view public.look as select 1 as a;"
    "create function public.twice(n int) returns int language sql as 'select n * 2'; create table public.others (id int)",
)
BROKEN = SystemMigration("trial", 3, "broken", "-- Breaks.\n-- as: superuser\nselect 1 / 0")

_MADE = """
select 'function ' || p.prosecdef || ' ' || p.proowner::regrole, p.oid::regprocedure::text,
  concat(pg_get_functiondef(p.oid))
from pg_proc p where p.oid >= 16384 and p.prokind in ('f', 'p')
  and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e')
union all
select 'relation', c.oid::regclass::text, concat(c.relkind, ' ', c.relowner::regrole, ' ', c.relrowsecurity,
  (select string_agg(concat(a.attname, ' ', a.atttypid::regtype), ', ' order by a.attname) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped))
from pg_class c where c.oid >= 16384 and c.relkind in ('r', 'p', 'v', 'i', 'S') and c.relnamespace <> 'pg_toast'::regnamespace
union all
select 'event trigger', evtname::text, concat(evtevent, ' ', evtfoid::regprocedure, ' ', evtenabled) from pg_event_trigger
union all
select 'trigger', concat(tgrelid::regclass, ' ', tgname), concat(tgenabled, ' ', pg_get_triggerdef(oid)) from pg_trigger where not tgisinternal
union all
select 'schema', nspname::text, nspowner::regrole::text from pg_namespace where nspname !~ '^pg_'
"""
"""What a database is made of, apart from its rows and rights."""


async def _tables(url: str) -> list[str]:
    async with connected(url) as connection:
        rows = await connection.fetch(
            "select tablename from pg_tables where schemaname = 'public' order by 1"
        )
    return [row[0] for row in rows]


async def test_rehearsal_tells_what_would_change_and_changes_nothing(database: str) -> None:
    settings = Settings()
    await migrate(database, settings, [*OURS, FIRST])

    found = await rehearse(database, settings, [*OURS, FIRST, SECOND])

    assert found.migrations == [SECOND]
    assert found.differences == [
        "+ column public.things.name",
        "+ function public.twice(n integer)",
        "+ table public.others",
        "+ view public.look",
    ]
    assert await _tables(database) == ["things"]
    assert (await rehearse(database, settings, [*OURS, FIRST, SECOND])).migrations == [SECOND]


async def test_upgrade_does_what_the_rehearsal_told(database: str) -> None:
    settings = Settings()
    await migrate(database, settings, [*OURS, FIRST])
    told = await rehearse(database, settings, [*OURS, FIRST, SECOND])

    done = await upgrade(database, settings, [*OURS, FIRST, SECOND])

    assert (done.migrations, done.differences) == (told.migrations, told.differences)
    assert await _tables(database) == ["others", "things"]
    assert (await upgrade(database, settings, [*OURS, FIRST, SECOND])).migrations == []


async def test_rehearsal_of_a_whole_new_database_leaves_it_empty(database: str) -> None:
    found = await rehearse(database, Settings())

    assert found.migrations == OURS
    assert "+ schema auth" in found.differences
    assert {each.series for each in found.untried} >= {"auth", "storage"}
    assert not any(each.series == "roles" for each in found.untried)
    assert "Not tried" in "".join(report_lines(found, is_dry=True))
    async with connected(database) as connection:
        assert not await connection.fetchval("select to_regclass('headwater.migrations')")


async def test_rehearsal_finds_a_migration_that_would_fail(database: str) -> None:
    settings = Settings()
    await migrate(database, settings, [*OURS, FIRST])

    with pytest.raises(MigrationError, match=r"trial/0003_broken failed: division by zero"):
        await rehearse(database, settings, [*OURS, FIRST, SECOND, BROKEN])
    assert await _tables(database) == ["things"]


async def test_rehearsal_does_not_wait_for_a_lock_that_somebody_holds(database: str) -> None:
    settings = Settings()
    await migrate(database, settings, [*OURS, FIRST])
    async with connected(database) as other, other.transaction():
        await other.execute("lock table public.things in access exclusive mode")

        with pytest.raises((MigrationError, asyncpg.PostgresError), match="lock timeout"):
            await rehearse(database, settings, [*OURS, FIRST, SECOND])


@pytest.mark.parametrize("doing", [rehearse, upgrade])
async def test_newer_database_is_refused_with_both_versions(database: str, doing: object) -> None:
    await migrate(database, Settings(), [*OURS, FIRST, SECOND])

    with pytest.raises(DatabaseTooNew, match=r"it has trial/0002, and the last one known here is trial/0001"):
        await doing(database, Settings(), [*OURS, FIRST])  # type: ignore[operator]  # one of the two


def test_report_names_each_migration_with_its_purpose() -> None:
    lines = report_lines(
        UpgradeReport([FIRST, SECOND], ["jwt_secret"], ["+ table public.things"]), is_dry=True
    )

    assert lines[0] == "2 system migrations to apply:"
    assert lines[1] == "  trial/0001_things  Things."
    assert lines[2] == "  trial/0002_more    More of them, and a look at them."
    assert "Set anew from the settings: jwt_secret" in lines
    assert "nothing is changed" in lines[-1]


def test_columns_of_a_new_table_are_not_told_one_by_one() -> None:
    after = {("table", "a.t"): "", ("column", "a.t.id"): "int", ("column", "a.u.id"): "bigint"}

    assert differences({("column", "a.u.id"): "int"}, after) == ["+ table a.t", "~ column a.u.id"]


def test_migration_without_a_comment_has_no_purpose() -> None:
    assert SystemMigration("a", 1, "b", "select 1").purpose == ""


def test_server_that_is_away_ends_the_command_with_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(Settings(), {"HEADWATER_MIGRATE_URL": "postgresql://a:word@127.0.0.1:1/x"}, ["--dry-run"])

    said = capsys.readouterr().err
    assert code == 1
    assert said.startswith("The database could not be brought up to date:")
    assert "word" not in said


async def test_a_database_of_the_release_before_is_brought_up_to_date(database: str) -> None:
    before = await apply_released(database)

    tried = await rehearse(database, Settings())
    done = await upgrade(database, Settings())

    there = {(each.series, each.version) for each in before}
    assert done.migrations == [each for each in OURS if (each.series, each.version) not in there]
    assert tried.migrations == done.migrations
    assert "- function extensions.headwater_mark_schema()" in done.differences
    assert (await upgrade(database, Settings())).migrations == []


async def test_an_upgraded_database_has_what_a_new_one_has(database: str, platform_server: Server) -> None:
    await apply_released(database)
    await migrate(database, Settings())
    async with fresh_database(platform_server) as name:
        await migrate(platform_server.url(database=name), Settings())
        found = []
        for url in (database, platform_server.url(database=name)):
            async with connected(url) as connection:
                rows = await connection.fetch(_MADE)
            found.append({(row[0], row[1]): row[2] for row in rows})

    upgraded, new = found
    assert {key: (upgraded.get(key), new.get(key)) for key in upgraded.keys() ^ new.keys()} == {}
    assert {key: (upgraded[key], new[key]) for key in new if upgraded[key] != new[key]} == {}


def test_checksums_of_the_release_before_are_known() -> None:
    now = {(each.series, each.version): each for each in OURS}
    superseded = read_superseded()

    for each in released_migrations():
        kept = now[each.series, each.version]
        assert each.name == kept.name
        assert each.checksum == kept.checksum or each.checksum in superseded[str(kept)], str(each)


def test_what_is_superseded_is_a_file_of_ours_in_another_form() -> None:
    known = {str(each): each.checksum for each in OURS}

    for file, checksums in read_superseded().items():
        assert known[file] not in checksums, file
