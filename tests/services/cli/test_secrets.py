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


def names(place):
    listed = place.run("secrets", "list", "-o", "json")
    assert listed.returncode == 0, listed.stderr
    return [each["name"] for each in json.loads(listed.stdout)]


def answer(url):
    try:
        with urllib.request.urlopen(f"{url}/functions/v1/tells", timeout=30) as got:
            return json.loads(got.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_secrets_that_are_set_without_a_worker_are_there_when_one_starts(place):
    function = place.root / "supabase" / "functions" / "tells" / "index.ts"
    function.parent.mkdir(parents=True)
    function.write_text(TELLS)
    (place.root / "supabase" / "config.toml").write_text(OPEN)
    assert (
        place.run("start", "--detach", "--edge", "gateway", "--pool", "none", "--port", "0").returncode == 0
    )

    first = place.run("secrets", "set", "FIRST=the-first-of-them", "GONE=x")
    place.run("stop")
    second = place.run("secrets", "set", "SECOND=two")
    gone = place.run("secrets", "unset", "GONE")

    assert (first.returncode, second.returncode, gone.returncode) == (0, 0, 0), first.stderr + second.stderr
    assert first.stdout.startswith(
        "Set FIRST, GONE. No functions worker answers: it takes effect when one starts"
    )
    assert second.stdout.startswith("Set SECOND. The platform does not run: it takes effect at the next")
    assert gone.stdout.startswith("Unset GONE.")
    assert names(place) == ["FIRST", "SECOND"]
    kept = b"".join(path.read_bytes() for path in (place.data / "storage").rglob("*") if path.is_file())
    assert b"the-first-of-them" not in kept
    assert (
        place.run("start", "--detach", "--edge", "gateway", "--pool", "functions", "--port", "0").returncode
        == 0
    )
    url = place.state()["values"]["API_URL"]
    wait_until(lambda: answer(url) == ["the-first-of-them", "two"])


def test_where_functions_are_switched_off_secrets_are_kept_for_later(place):
    (place.root / "supabase").mkdir()
    (place.root / "supabase" / "config.toml").write_text("[edge_runtime]\nenabled = false\n")
    assert (
        place.run("start", "--detach", "--edge", "gateway", "--pool", "none", "--port", "0").returncode == 0
    )

    done = place.run("secrets", "set", "FIRST=the-first-of-them")
    url = place.state()["values"]["API_URL"]
    key = place.state()["values"]["SERVICE_ROLE_KEY"]
    elsewhere = place.run(
        "secrets", "set", "FIRST=the-first-of-them", "--url", url, HEADWATER_SERVICE_KEY=key
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "Functions are switched off: it takes effect when they start with" in done.stdout
    assert names(place) == ["FIRST"]
    assert elsewhere.returncode == 1
    assert "or run this command there without --url" in elsewhere.stderr


def test_a_platform_without_a_gateway_keeps_secrets_and_refuses_too_many(place):
    assert place.run("start", "--detach", *SERVERS_ONLY).returncode == 0

    many = place.run("secrets", "set", *(f"S{number}=x" for number in range(101)))
    some = place.run("secrets", "set", *(f"S{number}=x" for number in range(100)))
    more = place.run("secrets", "set", "MORE=x")

    assert (many.returncode, some.returncode, more.returncode) == (1, 0, 1)
    assert "there may be 100 secrets at most" in many.stderr
    assert "MORE" not in names(place)


@pytest.mark.parametrize("task", [("set", "A=1"), ("unset", "A"), ("list",)])
def test_without_a_platform_it_is_said_what_to_do(place, task):
    done = place.run("secrets", *task)

    assert done.returncode == 1
    assert "Start it once with `headwater start`" in done.stderr
    assert not place.data.exists()
