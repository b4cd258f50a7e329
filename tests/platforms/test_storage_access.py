"""Requests to storage with a key, with a token alone and with neither: which are let in, and how the others are rejected."""

import json
import urllib.error
import urllib.request
import uuid
from typing import Any

import pytest

from tests.platform import Platform
from tests.platforms.conftest import token

pytestmark = [pytest.mark.process_group("running_platform"), pytest.mark.timeout(180)]

ALICE = "a11ce000-0000-4000-8000-000000000001"
MISSING = {
    "statusCode": "401",
    "error": "Unauthorized",
    "message": "No API key found in request",
    "code": "AccessDenied",
}


def asked(
    running_platform: Platform, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, Any]:
    """Ask below the storage, with these headers and no others; give status and body."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    if data is not None:
        sent.setdefault("content-type", "application/json")
    request = urllib.request.Request(f"{running_platform.url}/storage/v1/{path}", data, sent, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, read(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, read(error.read())


def read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body


@pytest.fixture(scope="module")
def bucket(running_platform: Platform) -> str:
    """A private bucket with one object, which Alice may read."""
    name = f"access-{uuid.uuid4().hex[:8]}"
    service = f"Bearer {running_platform.values['SERVICE_ROLE_KEY']}"
    assert asked(running_platform, "POST", "bucket", {"name": name}, authorization=service)[0] == 200
    put = asked(
        running_platform,
        "POST",
        f"object/{name}/a",
        b"hello",
        authorization=service,
        content_type="text/plain",
    )
    assert put[0] == 200
    running_platform.psql(
        f"create policy p_{name.replace('-', '_')} on storage.objects for select to authenticated"
        f" using (bucket_id = '{name}' and auth.uid() = '{ALICE}')"
    )
    return name


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR", ""])
def test_a_token_alone_is_enough(running_platform: Platform, bucket: str, scheme: str) -> None:
    alice, bob = token(running_platform, sub=ALICE), token(running_platform, sub=str(uuid.uuid4()))

    assert asked(
        running_platform, "GET", f"object/{bucket}/a", authorization=f"{scheme} {alice}".strip()
    ) == (
        200,
        b"hello",
    )
    refused = asked(running_platform, "GET", f"object/{bucket}/a", authorization=f"{scheme} {bob}".strip())
    assert (refused[0], refused[1]["code"]) == (400, "NoSuchKey")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "bucket"),
        ("POST", "bucket"),
        ("GET", "object/authenticated/x/a"),
        ("GET", "object/x/a"),
        ("POST", "object/list/x"),
        ("POST", "object/x/a"),
        ("DELETE", "object/x"),
        ("GET", "s3-keys"),
    ],
)
@pytest.mark.parametrize(
    "headers", [{}, {"authorization": ""}, {"authorization": "Basic YTpi"}, {"apikey": ""}]
)
def test_who_has_neither_is_refused(
    running_platform: Platform, method: str, path: str, headers: dict[str, str]
) -> None:
    body = {} if method == "POST" else None

    assert asked(running_platform, method, path, body, **headers) == (401, MISSING)


def test_a_secret_key_is_no_token(running_platform: Platform) -> None:
    sent = f"Bearer {running_platform.values['SECRET_KEY']}"

    assert asked(running_platform, "GET", "bucket", authorization=sent) == (401, MISSING)
    assert (
        asked(
            running_platform,
            "GET",
            "bucket",
            authorization=sent,
            apikey=running_platform.values["SECRET_KEY"],
        )[0]
        == 200
    )


def test_a_wrong_key_is_refused_whatever_the_token(running_platform: Platform) -> None:
    status, body = asked(
        running_platform,
        "GET",
        "bucket",
        apikey="wrong",
        authorization=f"Bearer {running_platform.values['SERVICE_ROLE_KEY']}",
    )

    assert (status, body["statusCode"], body["message"], body["code"]) == (
        401,
        "401",
        "Invalid API key",
        "AccessDenied",
    )


def test_a_key_alone_is_nobodys_word(running_platform: Platform) -> None:
    status, body = asked(running_platform, "GET", "bucket", apikey=running_platform.values["ANON_KEY"])

    assert (status, body["message"]) == (400, "headers must have required property 'authorization'")


@pytest.mark.parametrize("kind", ["expired", "forged", "no token"])
def test_a_token_alone_that_does_not_hold_is_refused(running_platform: Platform, kind: str) -> None:
    good = token(running_platform, sub=ALICE)
    sent = {
        "expired": token(running_platform, sub=ALICE, exp=1_700_000_000),
        "forged": good[:-4] + "AAAA",
        "no token": "x",
    }[kind]

    status, body = asked(running_platform, "GET", "bucket", authorization=f"Bearer {sent}")

    assert (status, list(body)) == (400, ["statusCode", "error", "message", "code"])
    assert (body["statusCode"], body["error"], body["code"]) == ("403", "Unauthorized", "AccessDenied")
    assert ("expired" in body["message"]) is (kind == "expired")


@pytest.mark.parametrize(
    "path", ["object/{}/a", "object/authenticated/{}/a", "object/info/{}/a", "object/public/{}/a"]
)
@pytest.mark.parametrize("query", ["versionId=x", "a=1&versionId=", "version%49d=null"])
def test_a_version_is_not_read_by_its_id(
    running_platform: Platform, bucket: str, path: str, query: str
) -> None:
    service = f"Bearer {running_platform.values['SERVICE_ROLE_KEY']}"

    status, body = asked(running_platform, "GET", f"{path.format(bucket)}?{query}", authorization=service)

    assert (status, body["statusCode"], body["code"]) == (400, "409", "FeatureNotEnabled")
    assert body["message"] == "The feature versioning is not enabled for this resource"
