"""The official command line tool on a running platform, over `--db-url`. Needs Node (skipped only where it is absent)."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.probe import run_sql, superuser_url
from tests.platform import Platform, platform
from tests.workers.management.areas.advisors.faults import AFTERWARDS, FAULTS, PREPARATION

HERE = Path(__file__).parent
PROGRAM = HERE / "node_modules" / "@supabase" / "cli-linux-x64" / "bin" / "supabase"
"""The binary of one platform is a package; the package `supabase` needs those of all platforms to be there."""

LATER_RULES = frozenset({
    "pg_graphql_anon_table_exposed", "pg_graphql_authenticated_table_exposed", "anon_security_definer_function_executable",
    "authenticated_security_definer_function_executable",
})  # fmt: skip
"""Rules of the linter that this release of the tool does not have."""

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]

_MIGRATION = """
create table public.notes (id bigint generated always as identity primary key, body text);
alter table public.notes enable row level security;
create policy "all" on public.notes for select using (true);
create function public.shout(words text) returns text language plpgsql set search_path = '' as
  $$ begin return upper(words); end $$;
create function public.loud(notes) returns text language sql stable set search_path = '' as $$ select upper($1.body) $$;
create function public.echo(note notes, many int default 1) returns setof notes language sql stable set search_path = '' as
  $$ select note.* $$;
create view public.pairs with (security_invoker = true) as
  select one.id, upper(one.body) as loud, two.id as other, count(*) as n
  from notes as one left join notes as two on two.id = one.id + 1 group by one.id, one.body, two.id;
create view public.ids with (security_invoker = true) as select x.id, x.other from (select id, other from pairs) as x;
create view public.marked with (security_invoker = true) as
  with kept as (select id, body from notes) select kept.id, upper(kept.body) as loud, kept.body from kept;
comment on column public.marked.loud is '@notNull';
create table public.empty ();
alter table public.empty enable row level security;
create policy "all" on public.empty for select using (true);
"""


@pytest.fixture(scope="module")
def target(node_modules: None) -> Iterator[Platform]:
    """A platform without tables of a project."""
    if not PROGRAM.exists():
        pytest.skip("the package with the official tool's binary is for Linux on x86-64")
    with platform() as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder with one migration."""
    whole = tmp_path_factory.mktemp("project")
    (whole / "supabase" / "migrations").mkdir(parents=True)
    (whole / "supabase" / "config.toml").write_text('project_id = "notes"\n')
    (whole / "supabase" / "migrations" / "20240101000000_notes.sql").write_text(_MIGRATION)
    return whole


def _run(target: Platform, folder: Path, words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *words.split(), "--db-url", target.values["DB_URL"]],
        cwd=folder,
        env={**os.environ, "DO_NOT_TRACK": "1", "SUPABASE_TELEMETRY_DISABLED": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


@pytest.fixture(scope="module")
def pushed(target: Platform, folder: Path) -> Platform:
    """The platform after `db push`."""
    done = _run(target, folder, "db push --yes")
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_a_pushed_migration_is_listed_as_applied(pushed: Platform, folder: Path) -> None:
    done = _run(pushed, folder, "migration list")

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("20240101000000") == 2


def test_the_types_of_the_tool_are_ours(pushed: Platform, folder: Path) -> None:
    done = _run(pushed, folder, "gen types --schema public")
    ours = pushed.command("gen", "types", "typescript", "--schema", "public")

    assert done.returncode == 0, done.stderr
    assert 'ComputedFields: "loud"' in ours.stdout
    assert _unformatted(ours.stdout) == _unformatted(done.stdout)


@pytest.mark.parametrize(("language", "start"), [("go", "package"), ("python", "from __future__")])
def test_other_languages_of_the_tool_are_ours(
    pushed: Platform, folder: Path, language: str, start: str
) -> None:
    """Those of the metadata interface with `follow_views`, which `gen types go` asks for; Swift needs a program of its own."""
    done = _run(pushed, folder, f"gen types --lang {language} --schema public")
    path = f"/pg/generators/{language}?included_schemas=public"
    key = {"apikey": pushed.values["SERVICE_ROLE_KEY"]}
    plain, ours = (pushed.get(path + more, key)[1].decode() for more in ("", "&follow_views=true"))

    assert done.returncode == 0, done.stderr
    assert ours.strip() == done.stdout[done.stdout.index(start) :].strip()
    assert ours != plain
    if language == "go":
        assert pushed.command("gen", "types", "--lang", "go", "--schema", "public").stdout == ours


def _unformatted(types: str) -> str:
    """Return the type `Database` without what a formatter decides: the tool does not format."""
    database = types[types.index("export type Database") : types.index("type DatabaseWithoutInternals")]
    return re.sub(r"[\s,;\"'|]", "", database)


@pytest.mark.parametrize("report", ["outliers", "calls", "db-stats"])
def test_the_database_is_inspected(pushed: Platform, folder: Path, report: str) -> None:
    done = _run(pushed, folder, f"inspect db {report}")

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) > 3


def test_the_advisors_find_nothing_in_schemas_of_the_platform(pushed: Platform, folder: Path) -> None:
    done = _run(pushed, folder, "db advisors --level info")

    assert done.returncode == 0, done.stderr
    findings = json.loads(done.stdout[done.stdout.index("[") : done.stdout.rindex("]") + 1])
    serious = [
        (finding["name"], finding["metadata"].get("schema"), finding["metadata"].get("name"))
        for finding in findings
        if finding["level"] != "INFO"
    ]
    assert serious == []


@pytest.fixture(scope="module")
def faulty(pushed: Platform) -> Platform:
    """The platform with one object of each fault that the advisors look for."""
    superuser = superuser_url(pushed)
    statements = [f"begin; {sql}; commit" for rule, sql in FAULTS.items() if rule != "table_bloat"]
    for url, sql in ((superuser, PREPARATION), *((pushed.values["DB_URL"], sql) for sql in statements)):
        run_sql(url, sql)
    run_sql(pushed.values["DB_URL"], FAULTS["table_bloat"])
    run_sql(pushed.values["DB_URL"], AFTERWARDS)
    return pushed


def test_our_advisors_agree_with_those_of_the_tool(faulty: Platform, folder: Path) -> None:
    ours = json.loads(faulty.command("db", "advisors", "--level", "info", "--dismissed", "--json").stdout)
    done = _run(faulty, folder, "db advisors --level info")
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout[done.stdout.index("[") : done.stdout.rindex("]") + 1])

    own = {
        (row["name"], row["level"], row["schema"], row["object"])
        for row in ours
        if row["type"] != "setting" and row["name"] not in {"extension_versions_outdated", *LATER_RULES}
    }
    official = {
        (row["name"], row["level"], row["metadata"].get("schema"), row["metadata"].get("name"))
        for row in theirs
        if row["name"] != "extension_versions_outdated"  # the metadata of the tool name no object here
        # It knows the names of the official platform's schemas only.
        and row["metadata"].get("schema") not in ("headwater", "headwater_history", "headwater_jobs")
    }

    assert {row["name"] for row in theirs} >= set(FAULTS) - LATER_RULES
    assert {row["name"] for row in theirs}.isdisjoint(LATER_RULES)  # else compare them too
    assert sorted(own ^ official, key=str) == []


def test_the_lint_says_what_it_lacks(pushed: Platform, folder: Path) -> None:
    done = _run(pushed, folder, "db lint")

    assert done.returncode != 0
    assert "checking PL/pgSQL needs a compiled module" in done.stdout + done.stderr
