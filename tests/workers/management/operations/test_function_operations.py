"""Operations on functions: a function is deployed, changed, compared, called, read and deleted by an administrator alone."""

import base64
import io
import json
import time
import zipfile

import pytest

from tests.platform import Platform
from tests.workers.management.operations.conftest import RemoteAdministrator

_ECHO = """
console.log("called %s");
Deno.serve(async (request) => {
  const url = new URL(request.url);
  console.log("answers");
  return Response.json({
    version: "%s", method: request.method, path: url.pathname, query: url.search,
    authorization: request.headers.get("authorization"), own: request.headers.get("x-own"), body: await request.text(),
  });
});
"""


def _deploy(developer: RemoteAdministrator, name: str, version: str, **more: object) -> int:
    files = [{"path": "index.ts", "text": _ECHO % (version, version)}]
    return developer.run("functions.deploy", name=name, files=files, **more)["version"]["number"]


def _claims(token: str) -> dict[str, object]:
    part = token.removeprefix("Bearer ").split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@pytest.fixture(scope="module")
def echo(developer: RemoteAdministrator) -> str:
    """A deployed function in its second version."""
    settings = {"schedule": "0 3 1 1 *", "timezone": "Europe/Berlin"}
    assert _deploy(developer, "echo", "first") == 1
    assert _deploy(developer, "echo", "second", settings=settings, base_version=1) == 2
    return "echo"


def test_a_function_is_called_and_listed_with_its_calls(developer: RemoteAdministrator, echo: str) -> None:
    reply = developer.run(
        "functions.invoke",
        name=echo,
        path="/a/../b?x=1",
        headers={"X-Own": "mine"},
        body="text",
        caller="service",
    )
    answer = json.loads(reply["body"])
    [row] = [row for row in developer.run("functions.list") if row["name"] == echo]

    assert reply["status"] == 200
    assert reply["duration_ms"] > 0
    assert (answer["version"], answer["path"], answer["query"]) == ("second", "/echo/a/../b", "?x=1") or (
        answer["path"] == "/echo/b"
    )
    assert (answer["own"], answer["body"], answer["method"]) == ("mine", "text", "POST")
    assert _claims(answer["authorization"])["role"] == "service_role"
    assert (row["status"], row["version"], row["schedule"]) == ("deployed", 2, "0 3 1 1 *")
    assert row["calls"] >= 1
    assert row["called_at"] <= time.time() < row["next_run_at"]
    assert row["bytes"] > 0


def test_a_function_is_called_as_a_user_and_as_nobody(
    developer: RemoteAdministrator, managed: Platform, echo: str
) -> None:
    user_id = "6b0f4a58-1111-4222-8333-000000000001"
    managed.psql(
        f"insert into auth.users (id, aud, role, email) values ('{user_id}', 'authenticated', 'authenticated', 'u@example.com')"
    )

    as_user = developer.run("functions.invoke", name=echo, caller="user", user_id=user_id)
    as_anon = developer.run("functions.invoke", name=echo, method="GET")

    claims = _claims(json.loads(as_user["body"])["authorization"])
    assert (claims["sub"], claims["role"], claims["email"]) == (user_id, "authenticated", "u@example.com")
    assert _claims(json.loads(as_anon["body"])["authorization"])["role"] == "anon"
    assert developer.refused("functions.invoke", name=echo, caller="user", user_id="'; --") == (
        404,
        "not_found",
    )


def test_versions_are_compared_and_rolled_back(developer: RemoteAdministrator, echo: str) -> None:
    compared = developer.run("functions.differences", name=echo, before=1, after=2)
    versions = developer.run("functions.versions", name=echo)
    developer.run("functions.roll_back", name=echo, version=1)
    first = json.loads(developer.run("functions.invoke", name=echo)["body"])["version"]
    developer.run("functions.roll_back", name=echo, version=2)

    assert [file["path"] for file in compared["files"]] == ["functions/echo/index.ts"]
    assert '+console.log("called second");' in compared["files"][0]["difference"]
    assert compared["settings"] == {
        "schedule": ["", "0 3 1 1 *"],
        "timezone": ["UTC", "Europe/Berlin"],
    }
    assert [(version["number"], version["is_active"]) for version in versions[:2]] == [(2, True), (1, False)]
    assert first == "first"


def test_files_are_compared_before_they_are_deployed(developer: RemoteAdministrator, echo: str) -> None:
    draft = [
        {"path": f"functions/{echo}/index.ts", "text": _ECHO % ("third", "third")},
        {"path": f"functions/{echo}/deno.json", "text": "{}"},
    ]
    settings = developer.run("functions.files", name=echo)["settings"] | {"verify_jwt": False}
    compared = developer.run("functions.differences", name=echo, before=2, files=draft, settings=settings)
    new = developer.run(
        "functions.differences",
        name="not-there",
        files=[{"path": "functions/not-there/index.ts", "text": "1"}],
    )

    changes = {file["path"]: file["change"] for file in compared["files"]}
    assert changes == {f"functions/{echo}/deno.json": "added", f"functions/{echo}/index.ts": "changed"}
    assert '+console.log("called third");' in compared["files"][1]["difference"]
    assert (compared["before"], compared["after"]) == (2, None)
    assert compared["settings"] == {"verify_jwt": [True, False]}
    assert [file["change"] for file in new["files"]] == ["added"]
    assert new["before"] is None
    assert developer.refused("functions.differences", name=echo, after=2, files=draft)[0] == 400
    assert developer.refused("functions.differences", name="not-there", before=7, files=draft)[0] == 404
    assert (
        developer.refused("functions.differences", name=echo, files=[{"path": "../x", "text": ""}])[0] == 400
    )


def test_the_lines_of_a_call_have_its_id(developer: RemoteAdministrator, echo: str) -> None:
    request_id = developer.run("functions.invoke", name=echo)["request_id"]
    developer.run("functions.invoke", name=echo)
    deadline = time.monotonic() + 60
    while not (lines := developer.run("functions.logs", name=echo, request_id=request_id)["lines"]):
        assert time.monotonic() < deadline, "no line of the call is found by its id"
        time.sleep(0.1)

    assert {line["request_id"] for line in lines} == {request_id}


def test_files_are_read_changed_and_deployed_again_with_their_settings(
    developer: RemoteAdministrator,
) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("functions/zipped/index.ts", _ECHO % ("one", "one"))
        packed.writestr("functions/_shared/data.bin", b"\xff\x00")
    encoded = base64.b64encode(archive.getvalue()).decode()
    settings = {"verify_jwt": False, "memory_mb": 200}
    developer.run("functions.deploy", name="zipped", zip=encoded, settings=settings)

    files = developer.run("functions.files", name="zipped")
    texts = {file["path"]: file for file in files["files"]}
    changed = [
        {"path": path, "base64": file["base64"]}
        if file["base64"]
        else {"path": path, "text": file["text"] + "//"}
        for path, file in texts.items()
    ]
    developer.run("functions.deploy", name="zipped", files=changed, base_version=1)
    again = developer.run("functions.files", name="zipped")

    assert base64.b64decode(texts["functions/_shared/data.bin"]["base64"]) == b"\xff\x00"
    assert (again["version"], again["settings"]["memory_mb"], again["settings"]["verify_jwt"]) == (
        2,
        200,
        False,
    )
    assert again["files"][1]["text"].endswith("//")
    assert developer.refused("functions.deploy", name="zipped", files=changed, base_version=1) == (
        409,
        "newer_version",
    )


def test_logs_are_searched(developer: RemoteAdministrator, echo: str) -> None:
    developer.run("functions.invoke", name=echo)
    deadline = time.monotonic() + 60
    while not (lines := developer.run("functions.logs", name=echo, text="CALLED second")["lines"]):
        assert time.monotonic() < deadline

    assert lines[-1]["text"] == "called second"
    at = lines[-1]["at"]
    assert developer.run("functions.logs", name=echo, text="called second", after=at + 1000)["lines"] == []
    assert developer.run("functions.logs", name=echo, level="error", text="called second")["lines"] == []
    assert developer.refused("functions.logs", level="loud")[0] == 400
    assert developer.refused("functions.logs", name="../x")[0] == 400


def test_secrets_are_named_and_never_shown(developer: RemoteAdministrator) -> None:
    developer.run(
        "functions.set_secrets", values={"MY_SECRET": "very secret value", "OTHER": "very secret value"}
    )
    listed = {secret["name"]: secret["digest"] for secret in developer.run("functions.secrets")}
    developer.run("functions.unset_secrets", names=["OTHER"])

    assert listed["MY_SECRET"] == listed["OTHER"]
    assert "very secret" not in json.dumps(listed)
    assert "OTHER" not in {secret["name"] for secret in developer.run("functions.secrets")}
    assert developer.refused("functions.set_secrets", values={"SUPABASE_URL": "x"})[0] == 400


@pytest.mark.parametrize(
    "path",
    ["../x.ts", "/etc/passwd", "functions/../../x", "a\nb.ts", "a\x00b", ".env", "\ud800.ts", "functions\\x"],
)
def test_paths_that_lead_out_of_the_bundle_are_refused(developer: RemoteAdministrator, path: str) -> None:
    status, _ = developer.refused(
        "functions.deploy",
        name="escape",
        files=[{"path": "index.ts", "text": ""}, {"path": path, "text": "x"}],
    )

    assert status in (400, 422)
    assert "escape" not in {row["name"] for row in developer.run("functions.list")}


@pytest.mark.parametrize("name", ["../secrets", "_internal", "a/b", "a'b", "a\nb", "", "x" * 64])
def test_hostile_names_of_functions_are_refused(developer: RemoteAdministrator, name: str) -> None:
    for operation in (
        "functions.versions",
        "functions.files",
        "functions.delete",
        "functions.invoke",
        "functions.run_now",
    ):
        assert developer.refused(operation, name=name)[0] == 400, operation


@pytest.mark.parametrize(
    "arguments",
    [
        {"headers": {"x": "a\r\nauthorization: evil"}},
        {"headers": {"a b": "x"}},
        {"headers": {"Host": "x"}},
        {"headers": {"Authorization": "Bearer x"}},
        {"method": "CONNECT"},
        {"path": "no-slash"},
        {"body": "x", "body_base64": "eA=="},
        {"body_base64": "?"},
    ],
)
def test_calls_that_are_no_http_are_refused(
    developer: RemoteAdministrator, echo: str, arguments: dict[str, object]
) -> None:
    assert developer.refused("functions.invoke", name=echo, **arguments) == (400, "invalid_arguments")


def test_an_archive_that_unpacks_to_gigabytes_is_refused(developer: RemoteAdministrator) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("index.ts", b"\0" * (65 * 1024 * 1024))
    encoded = base64.b64encode(archive.getvalue()).decode()

    assert developer.refused("functions.deploy", name="bomb", zip=encoded) == (400, "invalid_arguments")
    assert developer.refused("functions.deploy", name="bomb", zip="bm90IGEgemlw") == (
        400,
        "invalid_arguments",
    )


def test_a_function_is_run_on_its_schedule_now(developer: RemoteAdministrator, echo: str) -> None:
    def calls() -> int:
        return next(row["calls"] for row in developer.run("functions.list") if row["name"] == echo)

    before = calls()
    developer.run("functions.run_now", name=echo)

    deadline = time.monotonic() + 30
    while calls() != before + 1:  # a worker that does not answer in time is missing in the sum
        assert time.monotonic() < deadline
    assert developer.refused("functions.run_now", name="zipped") == (404, "not_found")


def test_a_deleted_function_is_gone(developer: RemoteAdministrator) -> None:
    _deploy(developer, "short", "x")
    developer.run("functions.delete", name="short")

    assert "short" not in {row["name"] for row in developer.run("functions.list")}
    assert developer.refused("functions.delete", name="short")[0] == 404
    assert developer.run("functions.versions", name="short") == []


def test_a_function_whose_entrypoint_is_missing_is_refused(developer: RemoteAdministrator) -> None:
    refused = developer.refused(
        "functions.deploy",
        name="headless",
        files=[{"path": "index.ts", "text": ""}],
        settings={"entrypoint": "functions/headless/main.ts"},
    )

    assert refused == (400, "invalid_arguments")


def test_long_files_come_back_whole_on_request(developer: RemoteAdministrator) -> None:
    long = "x" * (9 * 1024 * 1024)
    files = [
        {"path": "index.ts", "text": "Deno.serve(() => new Response('ok'));"},
        {"path": "long.txt", "text": long},
    ]
    developer.run("functions.deploy", name="long", files=files)

    short = {file["path"]: file for file in developer.run("functions.files", name="long")["files"]}
    whole = developer.run("functions.files", name="long", all_contents=True)

    assert short["functions/long/long.txt"]["text"] is None
    contents = {file["path"]: base64.b64decode(file["base64"]) for file in whole["files"]}
    assert contents == {
        "functions/long/index.ts": files[0]["text"].encode(),
        "functions/long/long.txt": long.encode(),
    }
