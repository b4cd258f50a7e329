"""Numbers that are none, or far too long, in every place where a client spells one: a clear refusal, never an answer 500.

Each text got past a check of its first digits, or made Python refuse to convert thousands of them.
"""

import json
import socket
import urllib.error
import urllib.request

import jwt
import pytest

from tests.platform import Platform

_LONG = "9" * 400
_LONGER = "9" * 5000
_ODD = (_LONG, _LONGER, "1_000", "%205", "+5", "%D9%A5", "0x10", "1e3", "nan", "-1", "--1", "0" * 5000 + "1")
_SIGNED = (
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=key/20260101/us-east-1/s3/aws4_request"
    "&X-Amz-Date=20260101T000000Z&X-Amz-SignedHeaders=host&X-Amz-Signature=" + "0" * 64 + "&X-Amz-Expires="
)


@pytest.fixture(scope="module")
def stocked(target: Platform) -> Platform:
    """The platform with a table of numbers, and a public bucket with an object."""
    target.psql(
        "create table public.numbers (id int primary key, body jsonb); grant select on public.numbers to anon;"
    )
    target.wait_for_catalog("numbers")
    key = target.values["SERVICE_ROLE_KEY"]
    headers = {"authorization": f"Bearer {key}", "apikey": key, "content-type": "application/json"}
    assert _send(target, "POST", "/storage/v1/bucket", headers, b'{"name":"numbers","public":true}')[0] == 200
    assert _send(target, "POST", "/storage/v1/object/numbers/k", headers, b"{}")[0] == 200
    return target


def _send(
    target: Platform, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
) -> tuple[int, str]:
    own = {"apikey": target.values["ANON_KEY"], **(headers or {})}
    request = urllib.request.Request(target.url + path, headers=own, method=method, data=body)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize(
    "lasts",
    [
        "00006048000",
        "0" * 20 + "604801",
        "0000000001" + "9" * 390,
        _LONG,
        _LONGER,
        "1_000",
        "٥",
        "+5",
        "0",
        "-1",
    ],
)
def test_a_presigned_address_lasts_a_week_at_most(target: Platform, lasts: str) -> None:
    status, text = _send(target, "GET", f"/storage/v1/s3/bucket/key?{_SIGNED}{urllib.request.quote(lasts)}")

    assert status == 400
    assert "X-Amz-Expires must be between 1 and 604800 seconds" in text


@pytest.mark.parametrize("number", _ODD)
@pytest.mark.parametrize(
    "path",
    [
        "/rest/v1/?limit={}", "/rest/v1/numbers?limit={}", "/rest/v1/numbers?offset={}",
        "/rest/v1/numbers?select=body->{}", "/auth/v1/admin/users?page={}", "/auth/v1/admin/users?per_page={}",
        "/storage/v1/render/image/public/numbers/k?width={}", "/storage/v1/render/image/public/numbers/k?quality={}",
        "/storage/v1/s3/numbers?list-type=2&max-keys={}", "/storage/v1/s3/numbers/k?partNumber={}&uploadId=x",
        "/realtime/v1/changes?schema=public&since={}",
    ],
)  # fmt: skip
def test_numbers_of_a_query(stocked: Platform, path: str, number: str) -> None:
    key = stocked.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "authorization": f"Bearer {key}"}

    assert _send(stocked, "GET", path.format(number), headers)[0] < 500


@pytest.mark.parametrize("number", [_LONG, _LONGER, "1_000", "+5", "0x10", "nan", "-1", "0" * 5000 + "1"])
@pytest.mark.parametrize(
    ("method", "path", "name", "form"),
    [
        ("GET", "/rest/v1/numbers", "range", "{}-{}"),
        ("GET", "/rest/v1/numbers", "prefer", "max-affected={}"),
        ("GET", "/rest/v1/numbers", "accept", "text/csv;q={}"),
        ("GET", "/storage/v1/object/public/numbers/k", "range", "bytes={}-{}"),
        ("POST", "/storage/v1/upload/resumable", "upload-length", "{}"),
        ("PATCH", "/storage/v1/upload/resumable/x", "upload-offset", "{}"),
        ("PUT", "/storage/v1/s3/numbers/k", "x-amz-decoded-content-length", "{}"),
        ("GET", "/storage/v1/bucket", "x-client-info", "supabase-py/{}.{}.1"),
    ],
)
def test_numbers_of_a_header(
    stocked: Platform, method: str, path: str, name: str, form: str, number: str
) -> None:
    headers = {
        "authorization": f"Bearer {stocked.values['SERVICE_ROLE_KEY']}",
        "tus-resumable": "1.0.0",
        name: form.format(number, number),
    }

    assert _send(stocked, method, path, headers)[0] < 500


@pytest.mark.parametrize("claim", ["exp", "iat", "nbf"])
@pytest.mark.parametrize("value", [10**400, -(10**400), 1e308, -1e308, True, "9" * 400, [1], {}, 0, -1, None])
@pytest.mark.parametrize(
    "path", ["/rest/v1/", "/auth/v1/user", "/storage/v1/bucket", "/realtime/v1/changes?schema=s"]
)
def test_times_of_a_signed_token(target: Platform, path: str, claim: str, value: object) -> None:
    payload = {"role": "authenticated", "exp": 2**32, claim: value}
    token = jwt.api_jws.encode(json.dumps(payload).encode(), target.values["JWT_SECRET"], algorithm="HS256")
    assert _send(target, "GET", path, {"authorization": f"Bearer {token}"})[0] < 500


@pytest.mark.parametrize("offset", [10**400, -(10**400), "NaN", True, 1e308])
def test_numbers_of_a_body(stocked: Platform, offset: object) -> None:
    body = {
        "expiresIn": offset,
        "transform": {"width": offset, "gravity": "fp", "x_offset": offset, "y_offset": offset},
    }
    headers = {
        "authorization": f"Bearer {stocked.values['SERVICE_ROLE_KEY']}",
        "content-type": "application/json",
    }

    assert (
        _send(stocked, "POST", "/storage/v1/object/sign/numbers/k", headers, json.dumps(body).encode())[0]
        < 500
    )
    del body["expiresIn"]
    body["expiresIn"] = 60
    assert (
        _send(stocked, "POST", "/storage/v1/object/sign/numbers/k", headers, json.dumps(body).encode())[0]
        < 500
    )


@pytest.mark.parametrize("length", [_LONG, "1_0", "+1", "0x1", "-1", "1, 2"])
def test_a_length_of_a_body_that_is_none(target: Platform, length: str) -> None:
    with socket.create_connection(("127.0.0.1", target.port), timeout=30) as connection:
        key = target.values["ANON_KEY"]
        head = f"POST /rest/v1/rpc/f HTTP/1.1\r\nHost: x\r\napikey: {key}\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode())
        answer = connection.recv(65536)

    assert answer.split(b" ")[1][:1] == b"4"
