"""Merges of a branch's schema into its parent: by migrations, with the parent's own changes, and never over a conflict."""

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from services.supervisor.branches.record import read_record, write_record
from tests.platform import Platform, headwater, platform, state_of

pytestmark = [pytest.mark.process_group("branches"), pytest.mark.timeout(300)]

_DATABASE_ALONE = ("--pool", "none", "--edge", "none")


@dataclass(frozen=True)
class Merging:
    """A platform and its branch, both with their databases alone, and the folder of migrations."""

    parent: Platform
    branch: Platform
    migrations: Path

    def run(self, *words: str, code: int = 0) -> tuple[str, str]:
        """Run `headwater branch`."""
        done = headwater("branch", *words, "--data", str(self.parent.data))
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout, done.stderr


@pytest.fixture(scope="module")
def both() -> Iterator[Merging]:
    with platform(*_DATABASE_ALONE) as parent:
        project = parent.data.parent
        migrations = project / "supabase" / "migrations"
        migrations.mkdir(parents=True)
        (migrations / "20260101000000_notes.sql").write_text(
            "create table notes (id int primary key, text text); create table old (id int);"
        )
        assert parent.command("db", "push").returncode == 0
        parent.psql("create table by_hand (id int)")
        named = ("--data", str(parent.data), "--project", str(project))
        started = headwater("start", "--branch", "work", "--detach", *_DATABASE_ALONE, *named)
        assert started.returncode == 0, started.stdout + started.stderr
        data = parent.data / "branches" / "work"
        try:
            yield Merging(parent, Platform(data, 0, *state_of(data)), migrations)
        finally:
            headwater("stop", "--data", str(data))


def columns(one: Platform, table: str) -> str:
    done = one.command(
        "psql", "-Atc", f"select attname from pg_attribute where attrelid = 'public.{table}'::regclass and attnum > 0 order by attnum"
    )  # fmt: skip
    return " ".join(done.stdout.split())


def test_a_merge_brings_migrations_and_the_rest_and_keeps_what_the_parent_did(both: Merging):
    assert "changed nothing" in both.run("diff", "work")[1]
    for name, text in {
        "20260201000000_tags.sql": "create table tags (id int primary key, note int references notes);",
        "20260202000000_rules.sql": "alter table tags enable row level security; create policy mine on tags using (true);",
    }.items():
        (both.migrations / name).write_text(text)
    assert both.branch.command("migration", "up").returncode == 0
    (both.migrations / "20260202000000_rules.sql").unlink()  # as on another git branch
    both.branch.psql("alter table notes add column extra text not null default 'x'; drop table old")
    both.parent.psql("alter table notes add column own int")

    access, _ = both.run("diff", "work", "--access", "--users", "5", code=3)
    statements, notices = both.run("diff", "work")
    merged = both.run("merge", "work", "--yes", "--as", "extra column")[1]

    assert "alter table public.notes add column extra" in statements
    assert "own" not in statements
    assert "20260201000000, 20260202000000" in notices
    assert "Wrote 20260202000000_rules.sql" in merged
    assert "anon gains select, insert, update, delete on table public.tags (it is new)" in access
    assert "anon loses select, insert, update, delete on table public.old (it is gone)" in access
    assert columns(both.parent, "notes") == "id text own extra"
    assert columns(both.parent, "tags") == "id note"
    assert columns(both.parent, "old") == ""
    files = sorted(path.name for path in both.migrations.iterdir())
    assert [name.partition("_")[2] for name in files] == [
        "notes.sql",
        "tags.sql",
        "rules.sql",
        "extra_column.sql",
    ]
    written = (both.migrations / files[-1]).read_text()
    assert "add column extra" in written
    assert "create table public.tags" not in written
    for one in (both.parent, both.branch):
        up = one.command("migration", "up")
        assert "up to date" in up.stderr, up.stderr
    assert "changed nothing" in both.run("diff", "work")[1]
    assert "changed nothing" in both.run("merge", "work", "--yes")[1]


def test_what_both_changed_is_named_and_nothing_is_merged(both: Merging):
    both.branch.psql(
        "alter table notes alter column text type varchar(50); create table clash (id int); alter table by_hand add column more int;"
        "create function clean() returns int language sql as 'select 1'"
    )
    both.parent.psql(
        "alter table notes alter column text set not null; drop table by_hand; create table clash (id bigint)"
    )
    files = sorted(both.migrations.iterdir())

    _, compared = both.run("diff", "work", code=1)
    _, refused = both.run("merge", "work", "--yes", code=2)

    assert (
        "Conflict: column public.notes.text: the branch changed it, and the parent changed it differently"
        in compared
    )
    assert (
        "Conflict: column public.clash.id: the branch added it, and the parent added it differently"
        in compared
    )
    assert (
        "Conflict: column public.by_hand.more: the branch changed it, and the parent dropped public.by_hand"
        in compared
    )
    assert "Nothing was changed" in refused
    assert sorted(both.migrations.iterdir()) == files
    assert "clean" not in both.parent.psql("\\df public.*")
    both.branch.psql(
        "alter table notes alter column text type text; drop table clash; drop table by_hand; drop function clean()"
    )
    assert "changed nothing" in both.run("diff", "work")[1]


def test_a_merge_that_the_rows_of_the_parent_forbid_changes_no_table(both: Merging):
    both.parent.psql("insert into notes (id, text, extra) values (1, 'a', 'x'), (2, 'a', 'x')")
    both.branch.psql("alter table notes add constraint one_text unique (text)")

    _, failed = both.run("merge", "work", "--yes", code=2)

    assert "one_text" in failed
    assert "Removed again: 2" in failed
    assert not list(both.migrations.glob("*_merge_work.sql"))
    assert "one_text" not in both.parent.psql("\\d notes")
    both.branch.psql("alter table notes drop constraint one_text")


_NAMES = (
    'a"; create role evil1; --', "b'; create role evil2; --", "c\n; create role evil3;\n--", "d$$; create role evil4; $$",
    'e"."f', 'g\\"; create role evil5; --', "h%I%L%s", "i{}{0}", "j;\\c template1", "k\\! false", "-- l", "/* m",
)  # fmt: skip
"""Names and comments that would be statements, commands of psql, or placeholders, if a merge pasted them into a text."""


def test_names_and_comments_of_a_hostile_branch_are_data(both: Merging):
    for name in _NAMES:
        quoted, text = '"{}"'.format(name.replace('"', '""')), name.replace("'", "''")
        both.branch.psql(
            f"create table public.{quoted} (id int primary key, {quoted} text default '{text}'); comment on table public.{quoted} is '{text}';"
            f"create policy {quoted} on public.{quoted} using ({quoted} <> '{text}')"
        )

    both.run("merge", "work", "--yes")

    roles = both.parent.psql("select count(*) from pg_roles where rolname like 'evil%'")
    listed = both.parent.psql(
        "select count(*) from pg_policies where schemaname = 'public' and policyname = tablename"
    )
    assert (roles.split()[2], listed.split()[2]) == ("0", str(len(_NAMES)))
    assert "changed nothing" in both.run("diff", "work")[1]


def test_stopped_databases_are_compared_too(both: Merging):
    both.branch.psql("create table late (id int)")
    assert both.branch.command("stop").returncode == 0

    assert "create table public.late" in both.run("diff", "work")[0]


def test_a_branch_that_nobody_uses_stops_and_goes_when_its_time_is_over(both: Merging) -> None:
    both.run("create", "nap", "--stop-after", "1s", "--remove-after", "2d")
    data = both.parent.data / "branches" / "nap"
    listed = json.loads(both.run("list", "-o", "json")[0])
    nap = next(branch for branch in listed if branch["name"] == "nap")
    assert (nap["stop_after_s"], round(nap["remove_at"] - nap["created_at"])) == (1.0, 2 * 86400)

    named = ("--data", str(both.parent.data), "--project", str(both.parent.data.parent))
    started = headwater("start", "--branch", "nap", "--detach", *_DATABASE_ALONE, *named)
    assert started.returncode == 0, started.stdout + started.stderr
    lock = os.open(data / "lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)  # waits until the platform has stopped by itself
    os.close(lock)
    assert "This branch was not in use for 1 s: it stops" in (data / "logs" / "supervisor.log").read_text()

    record = read_record(data)
    assert record is not None
    write_record(data, msgspec.structs.replace(record, remove_at=record.created_at))
    _, removed = both.run("list")
    assert "Removed the branch nap, whose time was over" in removed
    assert not data.exists()
