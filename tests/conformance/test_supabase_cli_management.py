"""The official command line with a profile of a fresh platform: everything that it asks its Management API and then the database.

Its package is for Linux on x86-64. Where it is missing these tests are skipped, or fail with `CONFORMANCE=required`.
"""

import json
import os
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.test_supabase_cli import PROGRAM
from tests.platform import Platform, platform

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]

_MIGRATION = "create table public.notes (id bigint generated always as identity primary key, body text);\n"
_VERSION = "20240101000000"
_SHARED = 'export const greeting = "hello from a shared file";\n'
_HELLO = 'import { greeting } from "../_shared/greeting.ts";\nDeno.serve(() => new Response(greeting));\n'
_TWO = 'Deno.serve(() => new Response(Deno.env.get("COLOUR") ?? "no colour"));\n'


@dataclass(frozen=True, slots=True)
class OfficialTool:
    """The program, in the folder of a project, with the profile of a platform."""

    target: Platform
    folder: Path
    environment: dict[str, str]

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command without a terminal."""
        return subprocess.run(
            [PROGRAM, *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    def output(self, *words: str, **environment: str) -> str:
        """Run a command that must succeed, and return all that it prints."""
        done = self.run(*words, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def rows(self, *words: str) -> list[dict[str, Any]]:
        """Run a command that must succeed, and return the rows that it prints as JSON."""
        done = self.run(*words, "-o", "json")
        assert done.returncode == 0, done.stdout + done.stderr
        rows: list[dict[str, Any]] = json.loads(done.stdout)
        return rows

    def call(self, function: str) -> tuple[int, str]:
        """Call a function of the platform with the public key."""
        status, body = self.target.get(f"/functions/v1/{function}")
        return status, body.decode()


@pytest.fixture(scope="module")
def tool(node_modules: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OfficialTool]:
    """The program with the variables that `headwater profile` prints, in the folder of a new project."""
    if not PROGRAM.exists():
        if os.environ.get("CONFORMANCE") == "required":
            pytest.fail(f"{PROGRAM} is missing, and CONFORMANCE=required demands it")
        pytest.skip("the package with the official tool's binary is for Linux on x86-64")
    folder = tmp_path_factory.mktemp("project")
    home = tmp_path_factory.mktemp("home")
    _write_project(folder / "supabase")
    with platform() as target:
        printed = target.command("profile")
        assert printed.returncode == 0, printed.stderr
        names = dict(re.findall(r"^export (\w+)=(\S+)$", printed.stdout, re.MULTILINE))
        token = target.command("admin", "token", "supabase", "--rights", "owner", "--write").stdout.strip()
        variables = {
            "SUPABASE_PROFILE": names["SUPABASE_PROFILE"],
            "SUPABASE_PROJECT_ID": names["SUPABASE_PROJECT_ID"],
            "SUPABASE_ACCESS_TOKEN": token,
            "SUPABASE_TELEMETRY_DISABLED": "1",
            "DO_NOT_TRACK": "1",
            "HOME": str(home),
        }
        yield OfficialTool(target, folder, {"PATH": os.environ["PATH"], **variables})


def _write_project(folder: Path) -> None:
    for path, text in (
        ("config.toml", 'project_id = "notes"\n\n[functions.two]\nverify_jwt = false\n'),
        (f"migrations/{_VERSION}_notes.sql", _MIGRATION),
        ("functions/_shared/greeting.ts", _SHARED),
        ("functions/hello/index.ts", _HELLO),
        ("functions/hello/deno.json", '{"imports": {}}\n'),
        ("functions/two/index.ts", _TWO),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


@pytest.fixture(scope="module")
def linked(tool: OfficialTool) -> OfficialTool:
    """The program after `link`."""
    assert "Finished supabase link" in tool.output(
        "link", "--project-ref", tool.environment["SUPABASE_PROJECT_ID"]
    )
    return tool


@pytest.fixture(scope="module")
def deployed(linked: OfficialTool) -> OfficialTool:
    """The program after both functions were deployed."""
    assert "Deployed Functions" in linked.output("functions", "deploy", "--use-api", "--yes")
    return linked


@pytest.fixture(scope="module")
def pushed(linked: OfficialTool) -> OfficialTool:
    """The program after `db push`."""
    assert "Finished supabase db push" in linked.output("db", "push", "--remote", "--yes")
    return linked


def test_the_profile_names_the_platform_and_bad_addresses_are_refused(
    tool: OfficialTool, tmp_path: Path
) -> None:
    target, path = tool.target, tmp_path / "other.yaml"
    written = target.command(
        "profile", "--url", "https://api.example.org/", "--project-host", "example.org", "--output", str(path)
    )

    assert written.returncode == 0, written.stderr
    ref = tool.environment["SUPABASE_PROJECT_ID"]
    assert dict(line.split(": ") for line in path.read_text().splitlines()) == {
        "name": f"headwater-{ref}",
        "api_url": "https://api.example.org",
        "dashboard_url": "https://api.example.org",
        "docs_url": "https://api.example.org",
        "project_host": "example.org",
    }
    for options, code in (
        (["--url", "ftp://x"], 2),
        (["--url", "https://x/path"], 2),
        (["--project-host", "no host"], 2),
        (["--output", str(tmp_path / "nowhere" / "file.yaml")], 1),
    ):
        assert target.command("profile", *options).returncode == code, options


def test_a_token_logs_in(tool: OfficialTool) -> None:
    token = tool.environment["SUPABASE_ACCESS_TOKEN"]

    assert "You are now logged in" in tool.output("login", "--token", token, "--name", "here")
    assert "token supabase" in tool.output("whoami")


def test_projects_and_organizations_are_listed(tool: OfficialTool) -> None:
    projects = tool.rows("projects", "list")

    assert [project["ref"] for project in projects] == [tool.environment["SUPABASE_PROJECT_ID"]]
    assert "Headwater" in tool.output("orgs", "list")
    assert tool.run("branches", "list").returncode == 0


def test_api_keys_are_shown_and_secret_ones_only_when_asked_for(linked: OfficialTool) -> None:
    hidden, shown = linked.output("projects", "api-keys"), linked.output("projects", "api-keys", "--reveal")

    values = linked.target.values
    assert values["ANON_KEY"] in hidden
    assert values["SECRET_KEY"] not in hidden
    assert values["SECRET_KEY"] in shown
    assert values["SERVICE_ROLE_KEY"] in shown


def test_functions_are_deployed_listed_and_run(deployed: OfficialTool) -> None:
    rows = deployed.rows("functions", "list")

    assert {(row["slug"], row["status"], row["version"]) for row in rows} == {
        ("hello", "ACTIVE", 1),
        ("two", "ACTIVE", 1),
    }
    assert {row["slug"]: row["verify_jwt"] for row in rows} == {"hello": True, "two": False}
    assert deployed.call("hello") == (200, "hello from a shared file")


def test_a_function_is_downloaded_as_it_was_deployed(deployed: OfficialTool, tmp_path: Path) -> None:
    (tmp_path / "supabase").mkdir()
    shutil.copy(deployed.folder / "supabase" / "config.toml", tmp_path / "supabase")
    elsewhere = OfficialTool(deployed.target, tmp_path, deployed.environment)

    elsewhere.output("functions", "download", "hello", "--use-api")

    functions = tmp_path / "supabase" / "functions"
    assert (functions / "hello" / "index.ts").read_text() == _HELLO
    assert (functions / "_shared" / "greeting.ts").read_text() == _SHARED


def test_secrets_reach_functions_and_are_unset(deployed: OfficialTool) -> None:
    deployed.output("secrets", "set", "COLOUR=green", "SIZE=9", "--yes")
    listed = deployed.rows("secrets", "list")
    coloured = deployed.call("two")
    deployed.output("secrets", "unset", "COLOUR", "--yes")

    assert {row["name"] for row in listed} == {"COLOUR", "SIZE"}
    assert "green" not in json.dumps(listed)
    assert coloured == (200, "green")
    assert deployed.call("two") == (200, "no colour")


def test_a_function_is_deleted(deployed: OfficialTool) -> None:
    (deployed.folder / "supabase" / "functions" / "short").mkdir()
    (deployed.folder / "supabase" / "functions" / "short" / "index.ts").write_text(_TWO)
    deployed.output("functions", "deploy", "short", "--use-api", "--yes")

    deployed.output("functions", "delete", "short", "--yes")

    assert "short" not in deployed.output("functions", "list")
    assert deployed.call("short")[0] == 404


def test_migrations_are_pushed_without_a_password_and_listed(pushed: OfficialTool) -> None:
    listed = pushed.output("migration", "list", "--remote")

    assert listed.count(_VERSION) == 2
    assert "notes" in pushed.target.psql("select relname from pg_class where relowner = 'postgres'::regrole")


def test_migrations_are_repaired_and_applied_again(pushed: OfficialTool) -> None:
    pushed.output("migration", "repair", _VERSION, "--status", "reverted", "--remote", "--yes")
    reverted = pushed.output("migration", "list", "--remote").count(_VERSION)
    pushed.output("db", "query", "--remote", "drop table public.notes", "--yes")
    pushed.output("migration", "up", "--remote", "--yes")

    assert reverted == 1
    assert pushed.output("migration", "list", "--remote").count(_VERSION) == 2


def test_sql_is_run_and_a_reading_session_cannot_write(pushed: OfficialTool) -> None:
    pushed.output("db", "query", "--remote", "insert into notes (body) values ('first')", "--yes")

    read = pushed.output(
        "db", "query", "--remote", "--read-only", "select body, 2 as two from notes", "-o", "json"
    )
    refused = pushed.run("db", "query", "--remote", "--read-only", "delete from notes")

    assert '"first"' in read
    assert refused.returncode != 0
    assert (
        "read-only" in refused.stdout + refused.stderr
        or "permission denied" in refused.stdout + refused.stderr
    )


def test_types_are_generated(pushed: OfficialTool) -> None:
    typescript = pushed.output("gen", "types", "--remote")
    python = pushed.output("gen", "types", "--remote", "--lang", "python")

    assert re.search(r"\bnotes\"?: *\{", typescript)
    assert "class PublicNotes" in python


@pytest.mark.parametrize("report", ["table-stats", "db-stats", "outliers"])
def test_the_database_is_inspected(pushed: OfficialTool, report: str) -> None:
    assert len(pushed.output("inspect", "db", report, "--remote").splitlines()) > 3


def test_the_advisors_answer(pushed: OfficialTool) -> None:
    done = pushed.run("db", "advisors", "--remote", "--level", "info", "-o", "json")

    assert done.returncode == 0, done.stdout + done.stderr
    findings = {(row["name"], row["metadata"].get("name")) for row in json.loads(done.stdout)}
    assert ("rls_disabled_in_public", "notes") in findings


def test_settings_are_compared_and_a_push_without_a_difference_succeeds(linked: OfficialTool) -> None:
    assert "Remote Auth config is up to date" in linked.output("config", "push", "--yes")
    assert "db.major_version" in linked.output("config", "diff")


def test_a_push_changes_settings_of_the_running_platform(linked: OfficialTool) -> None:
    config = linked.folder / "supabase" / "config.toml"
    text = config.read_text()
    config.write_text(text + '\n[api]\nmax_rows = 55\n[auth]\nsite_url = "https://app.example.org"\n')
    try:
        pushed = linked.output("config", "push", "--yes")
        again = linked.output("config", "push", "--yes")
    finally:
        config.write_text(text)

    assert "max_rows" in pushed
    assert "Remote Auth config is up to date" in again
    assert "Remote API config is up to date" in again


def test_settings_of_postgres_and_banned_addresses_are_shown(linked: OfficialTool) -> None:
    assert "max_replication_slots" in linked.output("postgres-config", "get", "--experimental")
    assert "[]" in linked.output("network-bans", "get", "--experimental")


def test_what_is_not_served_is_said_in_words(linked: OfficialTool) -> None:
    refused = linked.run("domains", "get", "--experimental", SUPABASE_API_MAX_RETRIES="0")

    assert refused.returncode != 0
    assert "is not served by this platform" in refused.stdout + refused.stderr


def test_a_token_that_reads_cannot_deploy_or_set_secrets(deployed: OfficialTool) -> None:
    token = deployed.target.command("admin", "token", "reader").stdout.strip()

    deploy = deployed.run("functions", "deploy", "--use-api", "--yes", SUPABASE_ACCESS_TOKEN=token)
    secret = deployed.run("secrets", "set", "A=1", "--yes", SUPABASE_ACCESS_TOKEN=token)
    push = deployed.run("db", "push", "--remote", "--yes", SUPABASE_ACCESS_TOKEN=token)

    for done in (deploy, secret, push):
        assert done.returncode != 0
        assert "needs the rights of developer" in done.stdout + done.stderr
    assert "hello" in deployed.output("functions", "list", SUPABASE_ACCESS_TOKEN=token)


def test_log_lines_are_returned_by_the_official_endpoints(deployed: OfficialTool) -> None:
    ref, token = deployed.environment["SUPABASE_PROJECT_ID"], deployed.environment["SUPABASE_ACCESS_TOKEN"]
    status, _ = deployed.target.get("/rest/v1/no_such_table_of_the_logs")
    assert status == 404

    def lines(endpoint: str, sql: str) -> list[dict[str, Any]]:
        query = urllib.parse.urlencode({"sql": sql, "iso_timestamp_start": "2020-01-01T00:00:00Z"})
        url = f"{deployed.target.url}/v1/projects/{ref}/analytics/endpoints/{endpoint}?{query}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            rows: list[dict[str, Any]] = json.loads(answer.read())["result"]
        return rows

    columns = "select id, timestamp, event_message, response.status_code from"
    of_tables = f"{columns} edge_logs cross join unnest(metadata) as m order by timestamp desc limit 100"
    deadline = time.monotonic() + 60  # lines travel once a second
    while not (
        matching := [row for row in lines("logs.all", of_tables) if "of_the_logs" in row["event_message"]]
    ):
        assert time.monotonic() < deadline

    assert (matching[0]["event_message"], matching[0]["status_code"]) == (
        "GET /rest/v1/no_such_table_of_the_logs",
        404,
    )
    unified = lines(
        "logs", "select id from logs where source_name = 'edge_logs' order by timestamp desc limit 100"
    )
    assert {"id": matching[0]["id"]} in unified


def test_what_it_changed_is_in_the_audit_log(deployed: OfficialTool) -> None:
    token = deployed.environment["SUPABASE_ACCESS_TOKEN"]
    request = urllib.request.Request(
        f"{deployed.target.url}/management/v1/operations/audit.list",
        json.dumps({"operation": "functions.deploy"}).encode(),
        {"Authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        rows = json.loads(answer.read())["rows"]

    assert {row["arguments"]["name"] for row in rows if row["outcome"] == "done"} >= {"hello", "two"}
    assert all(row["arguments"]["files"] == "(not stored)" for row in rows if row["outcome"] == "done")
