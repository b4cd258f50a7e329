"""Attacks on the interface of the official command line: who has no token, hostile forms of functions, logins that last minutes."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterable

import pytest

from tests.attacks.probe import run_sql
from tests.platform import Platform

_ENTRY = "supabase/functions/hostile/index.ts"
_CODE = b"Deno.serve(() => new Response('deployed'));"
_METADATA = {"entrypoint_path": _ENTRY, "name": "hostile", "verify_jwt": False}


@pytest.fixture(scope="module")
def token(target: Platform) -> str:
    """A token of a developer that may write."""
    made = target.command("admin", "token", "attack", "--rights", "developer", "--write")
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def _ask(
    target: Platform,
    method: str,
    path: str,
    token: str,
    body: bytes | None = None,
    content_type: str = "application/json",
) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type}
    request = urllib.request.Request(target.url + path, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(errors="replace")


def _ref(target: Platform, token: str) -> str:
    [project] = json.loads(_ask(target, "GET", "/v1/projects", token)[1])
    return str(project["ref"])


def _form(metadata: object, files: Iterable[tuple[str, bytes]]) -> bytes:
    parts = [
        b'--x\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n'
        + json.dumps(metadata).encode()
        + b"\r\n"
    ]
    for name, content in files:
        head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        parts.append(head.encode() + content + b"\r\n")
    return b"".join([*parts, b"--x--\r\n"])


def _deploy(
    target: Platform, token: str, body: bytes, content_type: str = "multipart/form-data; boundary=x"
) -> tuple[int, str]:
    path = f"/v1/projects/{_ref(target, token)}/functions/deploy?slug=hostile"
    return _ask(target, "POST", path, token, body, content_type)


def test_only_a_token_of_an_administrator_opens_it(target: Platform) -> None:
    values = target.values
    for wrong in ("", values["SERVICE_ROLE_KEY"], values["SECRET_KEY"], "sbp_" + "0" * 40, "sbp_" + "0" * 41):
        for path in ("/v1/projects", "/v1/profile", "/v1/nothing", "/v2/projects/x/config"):
            assert _ask(target, "GET", path, wrong)[0] == 401, path


def test_no_page_of_another_origin_reads_its_answers(target: Platform, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Origin": "https://evil.example"}
    with urllib.request.urlopen(
        urllib.request.Request(f"{target.url}/v1/projects", headers=headers), timeout=30
    ) as answer:
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("metadata", "files"),
    [
        (_METADATA, [(_ENTRY, _CODE), ("../../../../tmp/hostile.ts", b"")]),
        (_METADATA, [(_ENTRY, _CODE), ("supabase/functions/hostile/../../../x.ts", b"")]),
        (_METADATA, [(_ENTRY, _CODE), ("/etc/cron.d/hostile", b"")]),
        (_METADATA, [(_ENTRY, _CODE), ("supabase/functions/.env", b"A=1")]),
        (_METADATA, [(_ENTRY, _CODE), (_ENTRY, b"twice")]),
        (_METADATA, [(_ENTRY, _CODE), (f"{_ENTRY}/below.ts", b"a file and a folder")]),
        (_METADATA, [(_ENTRY, _CODE), ("manifest.json", b'{"name": "other"}')]),
        (_METADATA, [("supabase/functions/hostile/other.ts", _CODE)]),
        (_METADATA | {"entrypoint_path": "/etc/passwd"}, [(_ENTRY, _CODE)]),
        (_METADATA | {"entrypoint_path": "file:///etc/passwd"}, [(_ENTRY, _CODE)]),
        (_METADATA | {"import_map_path": "../../deno.json"}, [(_ENTRY, _CODE)]),
        (_METADATA | {"static_patterns": ["/etc/*"]}, [(_ENTRY, _CODE)]),
        (_METADATA | {"static_patterns": ["../../**"]}, [(_ENTRY, _CODE)]),
        (["no", "object"], [(_ENTRY, _CODE)]),
        (_METADATA, []),
    ],
)
def test_a_hostile_form_is_refused_and_nothing_runs(
    target: Platform, token: str, metadata: object, files: list[tuple[str, bytes]]
) -> None:
    status, body = _deploy(target, token, _form(metadata, files))

    assert 400 <= status < 500, body
    assert target.get("/functions/v1/hostile")[0] == 404


def test_a_huge_form_and_a_bundle_are_refused(target: Platform, token: str) -> None:
    many = _form(
        _METADATA, [(_ENTRY, _CODE), *((f"supabase/functions/hostile/{n}.ts", b"") for n in range(5_100))]
    )
    large = _form(_METADATA, [(_ENTRY, _CODE), ("supabase/functions/hostile/big.bin", b"\0" * (51 * 2**20))])

    assert _deploy(target, token, many)[0] == 413
    assert _deploy(target, token, large)[0] == 413
    assert _deploy(target, token, b"ESZIP2.3" + b"\0" * 1000, "application/vnd.denoland.eszip")[0] == 415
    assert _deploy(target, token, b"--x\r\n" * 100_000)[0] in (400, 413)
    assert target.get("/functions/v1/hostile")[0] == 404


def test_a_large_form_without_a_token_is_refused_unread(target: Platform) -> None:
    large = _form(_METADATA, [(_ENTRY, _CODE), ("supabase/functions/hostile/big.bin", b"\0" * (20 * 2**20))])
    path = "/v1/projects/abcdefghijklmnopqrst/functions/deploy?slug=hostile"

    assert _ask(target, "POST", path, "sbp_" + "0" * 40, large, "multipart/form-data; boundary=x")[0] == 401


def test_a_name_cannot_reach_other_endpoints_of_the_pool(target: Platform, token: str) -> None:
    ref = _ref(target, token)
    for name in ("..%2Fsecrets", "_internal", "a%2F..%2F..%2Fsecrets", "%2e%2e", "a%00b"):
        status, body = _ask(target, "DELETE", f"/v1/projects/{ref}/functions/{name}", token)
        assert 400 <= status < 500, body


def test_role_postgres_does_not_open_the_logins_that_last_minutes(target: Platform) -> None:
    for sql in (
        "alter role cli_login_postgres password 'mine'",
        "select headwater.set_command_line_login('cli_login_postgres', 'SCRAM-SHA-256$4096:x$y:z', 60)",
        "grant cli_login_postgres to postgres",
        "set role cli_login_postgres",
    ):
        done = run_sql(target.values["DB_URL"], f"begin; {sql}; rollback", check=False)
        assert "permission denied" in done.stderr or "must" in done.stderr, (sql, done)


def test_such_a_login_ends_and_has_the_rights_of_role_postgres_alone(target: Platform, token: str) -> None:
    path = f"/v1/projects/{_ref(target, token)}/cli/login-role"
    opened = json.loads(_ask(target, "POST", path, token, b'{"read_only": false}')[1])
    place = target.values["DB_URL"].rpartition("@")[2]
    url = f"postgresql://{opened['role']}:{opened['password']}@{place}"

    before = run_sql(
        url, "set role postgres; reset role; select * from headwater.administrator_tokens", check=False
    )
    superuser = run_sql(url, "set role supabase_admin", check=False)
    assert _ask(target, "DELETE", path, token)[0] == 200
    after = run_sql(url, "select 1", check=False)

    assert "permission denied" in before.stderr
    assert "permission denied" in superuser.stderr
    assert "password authentication failed" in after.stderr
