"""A project folder from its first start to its changes, by the commands that users type."""

import contextlib
import json
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.platform import free_port, headwater

FIRST = "create table public.notes (id int primary key, text text);\nalter table public.notes enable row level security;\n"


class RunningPlatform:
    """A project folder and its platform."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.port = free_port()

    def run(self, *words):
        return headwater(*words, "--project", str(self.root))

    def start(self):
        return self.run("start", "--detach", "--port", str(self.port))

    def write(self, name, text):
        path = self.root / "supabase" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def psql(self, sql):
        done = self.run("psql", "-Atc", sql)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@contextlib.contextmanager
def started_project():
    root = Path(tempfile.mkdtemp(prefix="headwater-test-"))
    root.chmod(0o755)
    running_platform = RunningPlatform(root)
    try:
        yield running_platform
    finally:
        running_platform.run("stop")
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="module")
def project():
    with started_project() as running_platform:
        running_platform.write("migrations/20240101000000_notes.sql", FIRST)
        running_platform.write("seed.sql", "insert into public.notes values (1, 'seeded');")
        running_platform.write("roles.sql", "create role reporting nologin;")
        running_platform.write("config.toml", "[storage.buckets.pictures]\npublic = true\n")
        done = running_platform.start()
        assert done.returncode == 0, done.stderr
        assert "Applied supabase/migrations/20240101000000_notes.sql" in done.stdout
        yield running_platform


def test_a_start_applies_the_folder(project):
    assert project.psql("select text from public.notes") == "seeded"
    assert project.psql("select rolname from pg_roles where rolname = 'reporting'") == "reporting"


def test_pending_migrations_are_listed_and_applied(project):
    project.write("migrations/20240102000000_more.sql", "alter table public.notes add more text;")

    rows = json.loads(project.run("migration", "list", "-o", "json").stdout)
    planned = project.run("db", "push", "--dry-run")
    pushed = project.run("migration", "up")

    assert [(row["local"], row["remote"]) for row in rows][-1] == ("20240102000000", "")
    assert planned.stdout == "supabase/migrations/20240102000000_more.sql\n"
    assert pushed.returncode == 0, pushed.stderr
    assert project.psql("select count(more) from public.notes") == "0"


def test_a_broken_migration_is_shown_with_its_place_and_changes_nothing(project):
    project.write("migrations/20240103000000_broken.sql", "create table public.half ();\nselect oops;\n")

    pushed = project.run("db", "push")
    reset = project.run("db", "reset")
    (project.root / "supabase/migrations/20240103000000_broken.sql").unlink()

    for done in (pushed, reset):
        assert done.returncode == 1
        assert 'statement 2, line 2: column "oops" does not exist' in done.stderr
        assert "         ^" in done.stderr
    assert project.psql("select text, to_regclass('public.half') from public.notes") == "seeded|"


def test_a_reset_brings_the_folder_and_the_buckets_back(project):
    project.psql("insert into public.notes values (2, 'gone'); create table public.rubbish ()")

    done = project.run("db", "reset")

    assert done.returncode == 0, done.stderr
    assert project.psql("select count(*), to_regclass('public.rubbish') from public.notes") == "1|"
    assert project.psql("select name from storage.buckets") == "pictures"


def test_tests_run_side_by_side_in_copies_of_what_the_folder_makes(project):
    """Roles belong to the server, so each of two files waits for that of the other: they run at once."""
    project.write("migrations/20240102000001_set.sql", "alter database postgres set lock_timeout = '7s';")
    project.psql("insert into public.notes values (7, 'only in the live one')")
    project.write(
        "tests/000-helpers.sql",
        "create schema tests; create function tests.me() returns text language sql as 'select current_user::text';\n"
        "begin; select plan(1); select ok(true); select * from finish(); rollback;\n",
    )
    for mine, other in (("a", "b"), ("b", "a")):
        project.write(
            f"tests/{mine}.sql",
            f"create role met_{mine};\n"
            f"do $$ begin while not exists (select from pg_roles where rolname = 'met_{other}') loop perform pg_sleep(0.01); end loop; end $$;\n"
            "create table public.left_behind ();\n"
            "begin; select plan(3);\n"
            "select results_eq('select id from public.notes', array[1]);\n"
            "select is(current_setting('lock_timeout'), '7s');\n"
            "select is(tests.me(), 'postgres'); select * from finish(); rollback;\n",
        )
    project.write("tests/c.sql", "select plan(1); select has_table('left_behind'); select * from finish();")

    done = project.run("test", "db", "--parallel", "2")
    wrong = project.run("test", "db", "--parallel", "2", "--db-url", "postgresql://x/y")
    (project.root / "supabase" / "migrations" / "20240102000001_set.sql").unlink()
    (project.root / "supabase" / "tests" / "000-helpers.sql").unlink()

    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if " ok" in line] == [
        f"supabase/tests/{name}.sql" for name in ("000-helpers", "a", "b", "c")
    ]
    assert (wrong.returncode, "--db-url" in wrong.stderr) == (2, True)
    assert (
        project.psql("select to_regclass('public.left_behind') is null and to_regrole('met_a') is null")
        == "t"
    )
    assert project.psql("delete from public.notes where id = 7 returning id").startswith("7\n")


def test_a_difference_becomes_a_migration(project):
    project.psql("create table public.found (id int primary key)")

    shown = project.run("db", "diff", "-f", "found it")
    repaired = project.run("migration", "repair", "--status", "applied", _last(project))

    assert shown.returncode == 0, shown.stderr
    assert (
        "create table public.found"
        in next(project.root.glob("supabase/migrations/*_found_it.sql")).read_text()
    )
    assert repaired.returncode == 0, repaired.stderr
    assert project.run("db", "push").returncode == 0

    project.psql("alter table public.found rename id to number")
    asked = project.run("db", "diff")
    renamed = project.run("db", "diff", "--rename", "found.id=number")
    project.psql("alter table public.found rename number to id")

    assert "--rename 'public.found.id=number'" in asked.stderr
    assert renamed.stdout.strip() == 'alter table public.found rename column id to "number";'
    assert project.run("db", "diff", "--rename", "nothing=x").returncode == 2


def _last(project):
    return max(path.name.partition("_")[0] for path in project.root.glob("supabase/migrations/*.sql"))


def test_a_dump_can_be_applied_again(project):
    schema, rows = project.run("db", "dump"), project.run("db", "dump", "--data-only")
    roles = project.run("db", "dump", "--role-only")
    with started_project() as other:
        other.write("migrations/20240101000000_all.sql", schema.stdout)
        other.write("seed.sql", rows.stdout)
        started = other.start()

        assert started.returncode == 0, started.stderr
        assert other.psql("select text from public.notes") == "seeded"
        assert other.psql("select count(*) from storage.buckets") == "1"
    assert 'CREATE ROLE "reporting"' in roles.stdout
    assert "supabase_admin" not in roles.stdout


def test_types_and_findings_are_written(project):
    types = project.run("gen", "types", "typescript")
    others = {name: project.run("gen", "types", name).stdout for name in ("zod", "dart", "go", "swift")}
    lint = project.run("db", "lint", "--fail-on", "error")
    for words in (("db", "lint"), ("gen", "types", "go"), ("gen", "types", "zod")):
        unknown = project.run(*words, "--schema", "nosuch")
        assert (unknown.returncode, unknown.stderr.strip()) == (2, "There is no schema nosuch.")

    assert "export const PublicNotesInsert = z.object({" in others["zod"]
    assert "class PublicNotesInsert {" in others["dart"]
    assert "type PublicNotesSelect struct {" in others["go"]
    assert "internal struct NotesSelect" in others["swift"]
    assert "notes: {" in types.stdout
    assert types.returncode == 0
    assert "no_policies" in lint.stdout


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "migrations/1_a.sql",
            "create table a ();\nselekt 1;\n",
            "supabase/migrations/1_a.sql, statement 2, line 2: syntax error",
        ),
        (
            "migrations/1_a.sql",
            "select 'open\n",
            "supabase/migrations/1_a.sql, line 1, column 8: this text does not end",
        ),
        ("seed.sql", "insert into nowhere values (1);", "supabase/seed.sql, statement 1, line 1: relation"),
        ("migrations/1_a.sql", "\\connect other\n", "\\connect is a command of psql"),
    ],
)
def test_a_start_with_a_broken_file_ends_with_1_and_its_place(name, text, told):
    with started_project() as running_platform:
        running_platform.write(name, text)

        done = running_platform.start()

        assert done.returncode == 1
        assert told in done.stderr
        assert running_platform.run("status").returncode != 0
