"""A folder of the official tool with everything it may hold comes up unchanged, by one command."""

import json
import shutil
import urllib.request
from pathlib import Path

import pytest

from tests.house.test_project import House, a_house

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
    with a_house() as house:
        write_project(house, config)
        done = house.start()
        assert done.returncode == 0, done.stderr
        yield house, done


def write_project(house: House, config: str) -> None:
    house.write("config.toml", config)
    for name, text in MIGRATIONS.items():
        house.write(f"migrations/{name}", text)
    house.write("roles.sql", "create role reporting nologin;")
    house.write("seeds/b.sql", "insert into public.notes (body) values ('second');")
    house.write("seeds/a.sql", "insert into public.notes (body) values ('first');")
    house.write("seed.sql", "insert into public.notes (body) values ('third');")
    house.write(
        "schemas/notes.sql",
        MIGRATIONS["20240101000000_tables.sql"].replace("insert into public.seen select", "--"),
    )
    house.write("images/logo.png", "no real picture")
    house.write("templates/magic_link.html", "<p>Your code: {{ .Token }}</p>")
    house.write("templates/password_changed_notification.html", "<p>Changed</p>")
    house.write("functions/hello/index.ts", "Deno.serve(() => new Response('hello'))\n")
    house.write("functions/hello/deno.json", "{}")
    (house.root / ".env").write_text("PROBE_KEY=from the env file\n")


def values_of(house):
    return json.loads(house.run("status", "-o", "json").stdout)


def ask(house, path, method="GET", body=None):
    values = values_of(house)
    sent = json.dumps(body).encode() if body is not None else None
    headers = {"apikey": values["ANON_KEY"], "content-type": "application/json"}
    asked = urllib.request.Request(values["API_URL"] + path, sent, headers, method=method)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return answer.read()


def test_migrations_run_in_order_with_a_history_that_the_official_tool_reads(whole):
    house, done = whole
    shown = house.psql(
        "select version, name, cardinality(statements) from supabase_migrations.schema_migrations order by 1"
    )

    assert shown.splitlines() == [
        "20240101000000|tables|6",
        "20240102000000|index|1",
        "20240103000000|view|1",
    ]
    assert "notes.md.sql is skipped: the name of a migration is <digits>_<name>.sql" in done.stderr
    assert (
        house.psql("select indisvalid from pg_index where indexrelid = 'public.notes_body'::regclass") == "t"
    )


def test_seeds_follow_in_the_order_of_their_patterns(whole):
    house, _ = whole

    assert house.psql("select string_agg(body, ' ' order by id) from public.notes") == "first second third"
    assert (
        house.psql("select count(*) from supabase_migrations.seed_files where path like 'supabase/seed%'")
        == "3"
    )


def test_roles_secrets_and_settings_of_the_server_are_there_before_the_migrations(whole):
    house, _ = whole

    assert house.psql("select has_table_privilege('reporting', 'public.notes', 'select')") == "t"
    assert house.psql("select secret from public.seen") == "from the env file"
    assert house.psql("show work_mem") == "7MB"


def test_what_is_not_honoured_is_a_line_a_section(whole):
    _, done = whole
    lines = [line for line in done.stderr.splitlines() if "honoured" in line]

    assert [line.partition("]")[0] for line in lines] == ["[studio", "[analytics", "[db"]
    assert all("supabase/config.toml" in line and "Instead: " in line for line in lines)


def test_rows_files_and_letters_are_served(whole):
    house, _ = whole
    rows = json.loads(ask(house, "/rest/v1/short?select=id&order=id"))
    file = ask(house, "/storage/v1/object/public/images/logo.png")
    ask(house, "/auth/v1/otp", "POST", {"email": "guest@example.com"})
    with urllib.request.urlopen(f"{values_of(house)['MAILPIT_URL']}/api/v1/messages", timeout=30) as answer:
        letters = json.loads(answer.read())["messages"]

    assert [row["id"] for row in rows] == [1, 2, 3]
    assert file == b"no real picture"
    assert letters[0]["Subject"] == "Enter, dear guest"


@pytest.mark.skipif(shutil.which("deno") is None, reason="there is no Deno")
def test_functions_of_the_folder_answer(whole):
    house, _ = whole

    assert ask(house, "/functions/v1/hello") == b"hello"


def test_the_declared_schema_and_the_migrations_agree(whole):
    house, _ = whole
    done = house.run("db", "diff")

    assert done.returncode == 0, done.stderr
    assert "create table" not in done.stdout
    assert "short" in done.stdout


def test_a_reset_brings_all_of_it_back(whole):
    house, _ = whole
    house.psql("delete from public.seen; delete from vault.secrets")

    done = house.run("db", "reset")

    assert done.returncode == 0, done.stderr
    assert house.psql("select secret from public.seen") == "from the env file"
    assert house.psql("select string_agg(body, ' ' order by id) from public.notes") == "first second third"
    assert ask(house, "/storage/v1/object/public/images/logo.png") == b"no real picture"


def test_a_broken_seed_fails_its_command_and_leaves_the_database_as_it_was(whole):
    house, _ = whole
    house.write(
        "seed.sql",
        "insert into public.notes (body) values ('half');\ninsert into public.notes (body)\n  values (null);\n",
    )

    seeded, reset = house.run("seed", "--again"), house.run("db", "reset")

    for done in (seeded, reset):
        assert done.returncode == 1
        assert "supabase/seed.sql, statement 2, line 2: null value in column" in done.stderr
    assert house.psql("select count(*) from public.notes where body = 'half'") == "0"
    assert house.psql("select count(*) from auth.users") == "0"


def test_a_broken_config_fails_every_command_and_changes_nothing(whole):
    house, _ = whole
    file = house.root / "supabase" / "config.toml"
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
            done = house.run(*words)
            assert done.returncode == 2
            assert done.stderr.strip().endswith(
                "supabase/config.toml: db.seed must be a table. Correct it and start again."
            )
    finally:
        file.write_text(config)
    assert house.psql("select count(*) > 2 from public.notes") == "t"
