"""`headwater secrets` where no functions worker answers: what is set is kept, and a worker that starts later has it."""

import json
import urllib.error
import urllib.request

import pytest

from tests.services.cli.conftest import SERVERS_ONLY, wait_until

TELLS = (
    """Deno.serve(() => Response.json([Deno.env.get("FIRST") ?? null, Deno.env.get("SECOND") ?? null]));"""
)
OPEN = "[functions.tells]\nverify_jwt = false\n"


def names(project_folder):
    listed = project_folder.run("secrets", "list", "-o", "json")
    assert listed.returncode == 0, listed.stderr
    return [each["name"] for each in json.loads(listed.stdout)]


def answer(url):
    try:
        with urllib.request.urlopen(f"{url}/functions/v1/tells", timeout=30) as got:
            return json.loads(got.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_secrets_that_are_set_without_a_worker_are_there_when_one_starts(project_folder):
    function = project_folder.root / "supabase" / "functions" / "tells" / "index.ts"
    function.parent.mkdir(parents=True)
    function.write_text(TELLS)
    (project_folder.root / "supabase" / "config.toml").write_text(OPEN)
    assert (
        project_folder.run(
            "start", "--detach", "--edge", "gateway", "--pool", "none", "--port", "0"
        ).returncode
        == 0
    )

    first = project_folder.run("secrets", "set", "FIRST=the-first-of-them", "GONE=x")
    project_folder.run("stop")
    second = project_folder.run("secrets", "set", "SECOND=two")
    gone = project_folder.run("secrets", "unset", "GONE")

    assert (first.returncode, second.returncode, gone.returncode) == (0, 0, 0), first.stderr + second.stderr
    assert first.stdout.startswith(
        "Set FIRST, GONE. No functions worker answers: it takes effect when one starts"
    )
    assert second.stdout.startswith("Set SECOND. The platform does not run: it takes effect at the next")
    assert gone.stdout.startswith("Unset GONE.")
    assert names(project_folder) == ["FIRST", "SECOND"]
    kept = b"".join(
        path.read_bytes() for path in (project_folder.data / "storage").rglob("*") if path.is_file()
    )
    assert b"the-first-of-them" not in kept
    assert (
        project_folder.run(
            "start", "--detach", "--edge", "gateway", "--pool", "functions", "--port", "0"
        ).returncode
        == 0
    )
    url = project_folder.state()["values"]["API_URL"]
    wait_until(lambda: answer(url) == ["the-first-of-them", "two"])


def test_where_functions_are_switched_off_secrets_are_kept_for_later(project_folder):
    (project_folder.root / "supabase").mkdir()
    (project_folder.root / "supabase" / "config.toml").write_text("[edge_runtime]\nenabled = false\n")
    assert (
        project_folder.run(
            "start", "--detach", "--edge", "gateway", "--pool", "none", "--port", "0"
        ).returncode
        == 0
    )

    done = project_folder.run("secrets", "set", "FIRST=the-first-of-them")
    url = project_folder.state()["values"]["API_URL"]
    key = project_folder.state()["values"]["SERVICE_ROLE_KEY"]
    elsewhere = project_folder.run(
        "secrets", "set", "FIRST=the-first-of-them", "--url", url, HEADWATER_SERVICE_KEY=key
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "Functions are switched off: it takes effect when they start with" in done.stdout
    assert names(project_folder) == ["FIRST"]
    assert elsewhere.returncode == 1
    assert "or run this command there without --url" in elsewhere.stderr


def test_a_platform_without_a_gateway_keeps_secrets_and_refuses_too_many(project_folder):
    assert project_folder.run("start", "--detach", *SERVERS_ONLY).returncode == 0

    many = project_folder.run("secrets", "set", *(f"S{number}=x" for number in range(101)))
    some = project_folder.run("secrets", "set", *(f"S{number}=x" for number in range(100)))
    more = project_folder.run("secrets", "set", "MORE=x")

    assert (many.returncode, some.returncode, more.returncode) == (1, 0, 1)
    assert "there may be 100 secrets at most" in many.stderr
    assert "MORE" not in names(project_folder)


@pytest.mark.parametrize("task", [("set", "A=1"), ("unset", "A"), ("list",)])
def test_without_a_platform_it_is_said_what_to_do(project_folder, task):
    done = project_folder.run("secrets", *task)

    assert done.returncode == 1
    assert "Start it once with `headwater start`" in done.stderr
    assert not project_folder.data.exists()
