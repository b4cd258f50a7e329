"""A folder of the official tool with everything it may hold comes up unchanged, by one command."""

import json
import urllib.request
from pathlib import Path

import pytest

from tests.caught_emails import emails_to
from tests.platforms.test_project import RunningPlatform, started_project

CONFIG = (Path(__file__).parents[1] / "schemas" / "settings" / "official_config.toml").read_text()
CHANGES = {
    'project_id = "demo"': 'project_id = "whole"',
    "major_version = 17": "major_version = 15",
    'sql_paths = ["./seed.sql"]': 'sql_paths = ["./seeds/*.sql", "./seed.sql"]',
    "schema_paths = []": 'schema_paths = ["./schemas/*.sql"]',
    "[storage.buckets.images]\npublic = false": "[storage.buckets.images]\npublic = true",
    "[realtime]\n": "[db.vault]\nprobe_key = 'env(PROBE_KEY)'\n\n[db.settings]\nwork_mem = '7MB'\n\n[realtime]\n",
    "[auth.email.template.invite]": "[auth.email.template.magic_link]",
    'subject = "You have been invited"': 'subject = "Enter, dear guest"',
    "invite.html": "magic_link.html",
}
MIGRATIONS = {
    "20240101000000_tables.sql": """
        create table public.notes (id bigint generated always as identity primary key, body text not null, owner uuid);
        alter table public.notes enable row level security;
        create policy all_read on public.notes for select using (true);
        create table public.seen (secret text);
        insert into public.seen select decrypted_secret from vault.decrypted_secrets where name = 'probe_key';
        grant select on public.notes to reporting;
    """,
    "20240102000000_index.sql": "create index concurrently notes_body on public.notes (body);\n",
    "20240103000000_view.sql": "create view public.short with (security_invoker = on) as select id from public.notes;\n",
    "notes.md.sql": "this is no migration",
}


@pytest.fixture(scope="module")
def whole():
    config = CONFIG
    for old, new in CHANGES.items():
        assert old in config
        config = config.replace(old, new)
    with started_project() as running_platform:
        write_project(running_platform, config)
        done = running_platform.start()
        assert done.returncode == 0, done.stderr
        yield running_platform, done


def write_project(running_platform: RunningPlatform, config: str) -> None:
    running_platform.write("config.toml", config)
    for name, text in MIGRATIONS.items():
        running_platform.write(f"migrations/{name}", text)
    running_platform.write("roles.sql", "create role reporting nologin;")
    running_platform.write("seeds/b.sql", "insert into public.notes (body) values ('second');")
    running_platform.write("seeds/a.sql", "insert into public.notes (body) values ('first');")
    running_platform.write("seed.sql", "insert into public.notes (body) values ('third');")
    running_platform.write(
        "schemas/notes.sql",
        MIGRATIONS["20240101000000_tables.sql"].replace("insert into public.seen select", "--"),
    )
    running_platform.write("images/logo.png", "no real picture")
    running_platform.write("templates/magic_link.html", "<p>Your code: {{ .Token }}</p>")
    running_platform.write("templates/password_changed_notification.html", "<p>Changed</p>")
    running_platform.write("functions/hello/index.ts", "Deno.serve(() => new Response('hello'))\n")
    running_platform.write("functions/hello/deno.json", "{}")
    (running_platform.root / ".env").write_text("PROBE_KEY=from the env file\n")


def values_of(running_platform):
    return json.loads(running_platform.run("status", "-o", "json").stdout)


def ask(running_platform, path, method="GET", body=None):
    values = values_of(running_platform)
    sent = json.dumps(body).encode() if body is not None else None
    headers = {"apikey": values["ANON_KEY"], "content-type": "application/json"}
    asked = urllib.request.Request(values["API_URL"] + path, sent, headers, method=method)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return answer.read()


def test_migrations_run_in_order_with_a_history_that_the_official_tool_reads(whole):
    running_platform, done = whole
    shown = running_platform.psql(
        "select version, name, cardinality(statements) from supabase_migrations.schema_migrations order by 1"
    )

    assert shown.splitlines() == [
        "20240101000000|tables|6",
        "20240102000000|index|1",
        "20240103000000|view|1",
    ]
    assert "notes.md.sql is skipped: the name of a migration is <digits>_<name>.sql" in done.stderr
    assert (
        running_platform.psql(
            "select indisvalid from pg_index where indexrelid = 'public.notes_body'::regclass"
        )
        == "t"
    )


def test_seeds_follow_in_the_order_of_their_patterns(whole):
    running_platform, _ = whole

    assert (
        running_platform.psql("select string_agg(body, ' ' order by id) from public.notes")
        == "first second third"
    )
    assert (
        running_platform.psql(
            "select count(*) from supabase_migrations.seed_files where path like 'supabase/seed%'"
        )
        == "3"
    )


def test_roles_secrets_and_settings_of_the_server_are_there_before_the_migrations(whole):
    running_platform, _ = whole

    assert running_platform.psql("select has_table_privilege('reporting', 'public.notes', 'select')") == "t"
    assert running_platform.psql("select secret from public.seen") == "from the env file"
    assert running_platform.psql("show work_mem") == "7MB"


def test_what_is_not_honoured_is_one_line_that_names_the_sections(whole):
    _, done = whole
    (line,) = [line for line in done.stderr.splitlines() if "honoured" in line]

    assert "supabase/config.toml" in line
    assert [section for section in ("studio", "analytics", "db") if section not in line] == [], line
    assert "`headwater start -v`" in line


def test_rows_files_and_emails_are_served(whole):
    running_platform, _ = whole
    rows = json.loads(ask(running_platform, "/rest/v1/short?select=id&order=id"))
    file = ask(running_platform, "/storage/v1/object/public/images/logo.png")
    ask(running_platform, "/auth/v1/otp", "POST", {"email": "guest@example.com"})
    emails = emails_to(values_of(running_platform)["MAILPIT_URL"], "guest@example.com")

    assert [row["id"] for row in rows] == [1, 2, 3]
    assert file == b"no real picture"
    assert emails[0]["Subject"] == "Enter, dear guest"


def test_functions_of_the_folder_answer(whole):
    running_platform, _ = whole

    assert ask(running_platform, "/functions/v1/hello") == b"hello"


def test_the_declared_schema_and_the_migrations_agree(whole):
    running_platform, _ = whole
    done = running_platform.run("db", "diff")

    assert done.returncode == 0, done.stderr
    assert "create table" not in done.stdout
    assert "short" in done.stdout


def test_a_reset_brings_all_of_it_back(whole):
    running_platform, _ = whole
    running_platform.psql("delete from public.seen; delete from vault.secrets")

    done = running_platform.run("db", "reset")

    assert done.returncode == 0, done.stderr
    assert running_platform.psql("select secret from public.seen") == "from the env file"
    assert (
        running_platform.psql("select string_agg(body, ' ' order by id) from public.notes")
        == "first second third"
    )
    assert ask(running_platform, "/storage/v1/object/public/images/logo.png") == b"no real picture"


def test_a_broken_seed_fails_its_command_and_leaves_the_database_as_it_was(whole):
    running_platform, _ = whole
    running_platform.write(
        "seed.sql",
        "insert into public.notes (body) values ('half');\ninsert into public.notes (body)\n  values (null);\n",
    )

    seeded, reset = running_platform.run("seed", "--again"), running_platform.run("db", "reset")

    for done in (seeded, reset):
        assert done.returncode == 1
        assert "supabase/seed.sql, statement 2, line 2: null value in column" in done.stderr
    assert running_platform.psql("select count(*) from public.notes where body = 'half'") == "0"
    assert running_platform.psql("select count(*) from auth.users") == "0"


def test_a_broken_config_fails_every_command_and_changes_nothing(whole):
    running_platform, _ = whole
    file = running_platform.root / "supabase" / "config.toml"
    config = file.read_text()
    file.write_text("[db]\nseed = 5\n")
    try:
        for words in (
            ("db", "push"),
            ("db", "reset"),
            ("seed",),
            ("migration", "list"),
            ("gen", "types", "typescript"),
        ):
            done = running_platform.run(*words)
            assert done.returncode == 2
            assert done.stderr.strip().endswith(
                "supabase/config.toml: db.seed must be a table. Correct it and start again."
            )
    finally:
        file.write_text(config)
    assert running_platform.psql("select count(*) > 2 from public.notes") == "t"
