"""Bad input, each with its right 4xx in the interface's shape, over real HTTP."""

import contextlib
import json
import socket
import time

import jwt
import pytest

from tests.platform import Platform
from tests.platforms.conftest import token

pytestmark = pytest.mark.process_group("running_platform")


def send(
    running_platform: Platform, head: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, object]]:
    """Send bytes as they are and give status and JSON body."""
    own = {
        "Host": "x",
        "apikey": running_platform.values["SERVICE_ROLE_KEY"],
        "Connection": "close",
        **(headers or {}),
    }
    lines = [f"{head} HTTP/1.1", *(f"{name}: {value}" for name, value in own.items() if value is not None)]
    if body or head.startswith(("POST", "PATCH")):
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    with socket.create_connection(("127.0.0.1", running_platform.port), timeout=30) as one:
        with contextlib.suppress(
            BrokenPipeError, ConnectionResetError
        ):  # refused before the whole of it was read
            one.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        received = b""
        try:
            while piece := one.recv(1 << 16):
                received += piece
        except ConnectionResetError:
            pass
    top, _, rest = received.partition(b"\r\n\r\n")
    return int(top[9:12]), json.loads(rest) if rest.startswith(b"{") else {}


@pytest.mark.parametrize(
    ("head", "body", "status"),
    [
        ("GET /rest/v1/no_such_table", b"", 404),
        ("GET /rest/v1/journal?select=nope", b"", 400),
        ("GET /rest/v1/journal?id=zz.1", b"", 400),
        ("GET /rest/v1/journal?id=eq.abc", b"", 400),
        ("GET /rest/v1/journal?limit=-1", b"", 416),
        ("GET /rest/v1/journal?note=eq.%00", b"", 400),
        ("GET /rest/v1/journal/deeper/path", b"", 404),
        ("GET /rest/v1/%FF%FE", b"", 404),
        ("GET /nowhere", b"", 404),
        ("POST /rest/v1/journal", b"{", 400),
        ("POST /rest/v1/journal", b"", 400),
        ("POST /rest/v1/journal", b'{"nope": 1}', 400),
        ("POST /rest/v1/journal", b'{"id": "abc", "note": "x"}', 400),
        ("POST /rest/v1/journal", b'{"note": null}', 400),
        ("POST /rest/v1/journal", b'\xff\xfe{"note": "x"}', 400),
        ("POST /rest/v1/journal", b'{"note":' + b"[" * 100_000, 400),
        ("PATCH /rest/v1/journal?id=eq.1", b"[1,2", 400),
        ("PUT /rest/v1/journal", b'{"note": "x"}', 405),
        ("PROPFIND /rest/v1/journal", b"", 405),
        ("GET /rest/v1/rpc/no_such_function", b"", 404),
    ],
)
def test_bad_requests_are_refused_in_the_interface_s_shape(
    running_platform: Platform, head: str, body: bytes, status: int
) -> None:
    got, answer = send(running_platform, head, body)

    assert got == status, answer
    assert answer.get("message"), answer


def test_a_url_of_a_megabyte_is_refused(running_platform: Platform) -> None:
    status, _ = send(running_platform, "GET /rest/v1/journal?note=eq." + "a" * (1 << 20))

    assert status in (400, 414)


def test_a_body_of_two_hundred_megabytes_is_refused(running_platform: Platform) -> None:
    status, answer = send(
        running_platform, "POST /rest/v1/journal", b'{"note":"' + b"a" * 200_000_000 + b'"}'
    )

    assert status == 413, answer


def test_json_a_hundred_levels_deep_is_stored_where_json_belongs(running_platform: Platform) -> None:
    running_platform.psql("create table if not exists public.deep (id int, doc jsonb)")
    running_platform.wait_for_catalog("deep")

    status, answer = send(
        running_platform, "POST /rest/v1/deep", b'{"id": 1, "doc": ' + b"[" * 100 + b"]" * 100 + b"}"
    )

    assert status == 201, answer


def test_tokens_that_are_wrong_are_refused(running_platform: Platform) -> None:
    good = token(running_platform, sub="ada")
    wrong = {
        "expired": token(running_platform, exp=int(time.time()) - 3600),
        "foreign": jwt.encode(
            {"role": "service_role"}, "another secret that is long enough for HS256", algorithm="HS256"
        ),
        "unsigned": jwt.encode({"role": "service_role"}, None, algorithm="none"),
        "changed": good[:-4] + ("AAAA" if good[-4:] != "AAAA" else "BBBB"),
        "garbled": "a.b.c",
        "empty": "",
    }
    answers = {
        name: send(running_platform, "GET /rest/v1/journal", headers={"Authorization": f"Bearer {text}"})
        for name, text in wrong.items()
    }

    assert {name: status for name, (status, _) in answers.items()} == dict.fromkeys(wrong, 401)
    assert answers["expired"][1]["message"] == "JWT expired"
    assert answers["expired"][1]["code"] == "RESTERR303"


def test_a_key_must_be_there_and_right(running_platform: Platform) -> None:
    missing, said = send(running_platform, "GET /rest/v1/journal", headers={"apikey": ""})
    wrong, told = send(running_platform, "GET /rest/v1/journal", headers={"apikey": "sb_secret_wrong"})

    assert (missing, said["message"]) == (401, "No API key found in request")
    assert (wrong, told["message"]) == (401, "Invalid API key")


def test_a_project_without_functions_has_none_of_that_name(running_platform: Platform) -> None:
    assert send(running_platform, "GET /functions/v1/hello") == (
        404,
        {"code": "NOT_FOUND", "message": "Requested function was not found"},
    )
    assert send(running_platform, "GET /functions/v1/")[0] == 400
