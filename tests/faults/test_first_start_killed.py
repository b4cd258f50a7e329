"""Everything is killed during the very first start, at one stage after another, and started again: it comes up whole.

Each start begins in what the killed one before it has left, and gets one stage further. The stages are observed (files, rows of
the history of migrations, the children's states), not waited for.
"""

import contextlib
import json
import os
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.faults.killed_platform import KilledPlatform, killed_platform
from tests.platform import Platform
from workers.database.migrations.migrate import read_migrations

pytestmark = [pytest.mark.process_group("first start killed"), pytest.mark.timeout(300)]

_HISTORY = "select count(*) from headwater.migrations"
_SEEDED = "select count(*) from supabase_migrations.seed_files"
_IS_LONG = bool(os.environ.get("FAULTS_LONG"))


class Stages:
    """Conditions that hold from a stage of a start on."""

    def __init__(self, place: KilledPlatform) -> None:
        self._place = place
        self._home = place.data / "postgres"
        self._connection: psycopg.Connection | None = None

    def has_passwords(self) -> bool:
        """The folder and its passwords are there, and no cluster."""
        return (self._place.data / "passwords.json").exists()

    def makes_cluster(self) -> bool:
        """initdb is at work."""
        return any(self._home.glob("making*/data/base"))

    def has_cluster(self) -> bool:
        """The cluster is in its place; it may not be configured yet."""
        return (self._home / "data" / "PG_VERSION").exists()

    def has_server(self) -> bool:
        """The server has begun to start."""
        return (self._home / "data" / "postmaster.pid").exists()

    def has_migrations(self, least: int) -> Callable[[], bool]:
        """So many of the platform's migrations are applied."""
        return lambda: self._count(_HISTORY) >= least

    def has_seeds(self, least: int) -> Callable[[], bool]:
        """So many of the project's seeds have run."""
        return lambda: self._count(_SEEDED) >= least

    def has_migrated(self) -> bool:
        """The database is up to date and the pools start."""
        with contextlib.suppress(OSError, ValueError):
            children = json.loads((self._place.data / "state.json").read_text())["children"]
            return any(child["name"] == "migrate" and child["status"] == "done" for child in children)
        return False

    def close(self) -> None:
        """Close the connection to the database, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _count(self, sql: str) -> int:
        try:
            if self._connection is None or self._connection.closed:
                port = json.loads((self._place.data / "ports.json").read_text())["db"]
                password = json.loads((self._place.data / "passwords.json").read_text())["database"]
                self._connection = psycopg.connect(
                    host="127.0.0.1", port=port, user="supabase_admin", password=password,
                    dbname="postgres", autocommit=True, connect_timeout=5,
                )  # fmt: skip
            row = self._connection.execute(sql).fetchone()
            return int(row[0]) if row else 0
        except (OSError, ValueError, KeyError, psycopg.Error):
            if self._connection is not None and self._connection.broken:
                self.close()
            return -1


def _project(folder: Path) -> None:
    """Write a project whose migrations and seeds would not bear to run twice."""
    top = folder / "supabase"
    (top / "migrations").mkdir(parents=True)
    (top / "migrations" / "1_a.sql").write_text(
        "create table public.counted (text text); grant select on public.counted to anon;"
        "alter table public.counted enable row level security;"
        "create policy all_see on public.counted for select using (true); insert into public.counted values ('migration');"
    )
    (top / "migrations" / "2_b.sql").write_text("create role keeper nologin; grant keeper to postgres;")
    (top / "roles.sql").write_text("create role helper nologin;")
    (top / "seed.sql").write_text("insert into public.counted values ('seed');")


def test_a_first_start_that_is_killed_at_any_stage_comes_up_whole() -> None:
    most = len(read_migrations())
    with killed_platform() as place, contextlib.closing(Stages(place)) as stages:
        _project(place.folder)
        points: list[Callable[[], bool]] = [
            stages.makes_cluster,
            stages.has_cluster,
            stages.has_migrations(1),
            stages.has_migrations(most // 2),
            stages.has_migrated,
        ]
        if _IS_LONG:
            points = [
                stages.has_passwords, stages.makes_cluster, stages.makes_cluster, stages.has_cluster, stages.has_server,
                *(stages.has_migrations(least) for least in range(0, most, 5)),
                stages.has_migrations(most), stages.has_seeds(1), stages.has_migrated, stages.has_migrated,
            ]  # fmt: skip
        # What the supervisor had begun goes on without it: `initdb` ends by itself later.
        assert place.start_and_kill(stages.makes_cluster, with_children=False)
        for number, point in enumerate(points):
            assert place.start_and_kill(point), f"stage {number} was not met:\n{place.log('supervisor')}"

        stages.close()
        platform = place.start()

        _is_whole(platform)
        assert not list((place.data / "postgres").glob("making*")), "a file with the password may be left"
        place.kill_all(platform)
        _is_whole(place.start())


def _is_whole(platform: Platform) -> None:
    platform.wait_for_catalog("counted")
    status, rows = platform.get("/rest/v1/counted?order=text")
    assert (status, json.loads(rows)) == (200, [{"text": "migration"}, {"text": "seed"}])
    assert platform.get("/health/ready")[0] == 200
    assert "2 roles" in platform.psql(
        "select count(*) || ' roles' from pg_roles where rolname in ('keeper', 'helper')"
    )
    assert "0 logins" in platform.psql(
        "select count(*) || ' logins' from pg_roles where rolname like 'headwater_login_%'"
    )
    key = platform.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{platform.url}/auth/v1/admin/users", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
    findings = json.loads(platform.command("doctor", "--json").stdout)
    assert [each for each in findings if each["level"] == "error"] == []
