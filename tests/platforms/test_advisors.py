"""`headwater db advisors`: what it prints, its filters, dismissed findings, exit codes, names that would steer a terminal."""

import json
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from services.cli.advisors import advisors, is_failing
from tests.platform import Platform


@pytest.fixture(scope="module")
def table(running_platform: Platform) -> Iterator[str]:
    """A table in schema public with an index that is there twice and without row level security; one with a hostile name."""
    name = f"looked_at_{uuid.uuid4().hex}"
    running_platform.psql(
        f"create table public.{name} (id int primary key, body text);"
        f" create index {name}_a on public.{name} (body); create index {name}_b on public.{name} (body);"
        f' create table public."evil\x1b[2J\n{name}" (id int)'
    )
    yield name
    running_platform.psql(f'drop table public.{name}, public."evil\x1b[2J\n{name}"')


def test_findings_are_printed_with_explanation_and_fix(running_platform: Platform, table: str) -> None:
    done = running_platform.command("db", "advisors", "--level", "info", "--fail-on", "error")

    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    [start] = [
        number
        for number, line in enumerate(lines)
        if "rls_disabled_in_public" in line and table in line and "evil" not in line
    ]
    assert lines[start].startswith("ERROR rls_disabled_in_public: ")
    assert lines[start + 1].startswith("      Clients with any API key may read")
    assert f"      alter table public.{table} enable row level security;" in lines[start + 2 : start + 4]
    assert any(line.startswith("WARN  duplicate_index: ") and table in line for line in lines)
    assert "      setting auth.password.hibp.enabled = true" in lines
    assert "\x1b" not in done.stdout
    [line] = [line for line in lines if line.startswith("INFO  no_primary_key: ") and "evil" in line]
    assert table in line
    assert lines[-1].endswith("findings.")


def test_findings_are_chosen_by_level_category_and_schema(running_platform: Platform, table: str) -> None:
    options = ("--level", "info", "--category", "performance", "--schema", "public")
    done = running_platform.command("db", "advisors", "--json", *options)

    assert done.returncode == 0, done.stderr
    findings = json.loads(done.stdout)
    assert {row["category"] for row in findings} == {"PERFORMANCE"}
    assert {row["schema"] for row in findings} == {"public"}
    names = {row["name"] for row in findings if row["object"] == table}
    assert {"duplicate_index", "unused_index"} <= names


def test_dismissed_findings_are_counted_and_listed_on_demand(running_platform: Platform, table: str) -> None:
    operate = _operations(running_platform)
    key = f"rls_disabled_in_public_public_{table}"
    operate("advisors.dismiss", cache_key=key, reason="on purpose")
    try:
        without = running_platform.command("db", "advisors", "--level", "error").stdout
        whole = running_platform.command("db", "advisors", "--level", "error", "--dismissed").stdout
    finally:
        operate("advisors.restore", cache_key=key)

    [evil] = [line for line in without.splitlines() if "rls_disabled_in_public" in line and table in line]
    assert "evil" in evil
    assert without.rstrip().endswith(", 1 is dismissed.")
    assert [line for line in whole.splitlines() if table in line and line.endswith("(dismissed)")]


def _operations(target: Platform) -> Callable[..., None]:
    """Return a function that runs an operation with a token of a developer."""
    token = target.command("admin", "token", "advisors", "--rights", "developer", "--write").stdout.split()[
        -1
    ]

    def operate(name: str, **arguments: object) -> None:
        request = urllib.request.Request(
            f"{target.url}/management/v1/operations/{name}",
            json.dumps(arguments).encode(),
            {"authorization": f"Bearer {token}", "content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            assert response.status == 200

    return operate


@pytest.mark.parametrize(
    ("level", "is_dismissed", "fail_on", "expected"),
    [
        ("ERROR", False, "error", True),
        ("ERROR", False, "warn", True),
        ("ERROR", False, "none", False),
        ("ERROR", True, "error", False),
        ("WARN", False, "error", False),
        ("WARN", False, "warn", True),
        ("INFO", False, "warn", False),
    ],
)
def test_findings_from_a_level_on_fail(level: str, is_dismissed: bool, fail_on: str, expected: bool) -> None:
    assert is_failing([{"level": level, "is_dismissed": is_dismissed}], fail_on) is expected


def test_without_a_running_platform_the_answer_says_so(tmp_path: Path) -> None:
    done = CliRunner().invoke(advisors, ["--data", str(tmp_path)])

    assert done.exit_code == 1
    assert "headwater start" in done.output
