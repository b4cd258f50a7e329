"""Documents nested without measure, and documents of another kind than is expected: a clear refusal, never an answer 500."""

import asyncio
import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import pytest

from tests.platform import Platform

_DEEP = 20_000
_ARRAYS = b"[" * _DEEP + b"]" * _DEEP
_OBJECTS = b'{"a":' * _DEEP + b"1" + b"}" * _DEEP
_FIELDS = (
    "email", "phone", "password", "data", "token", "provider", "id_token", "options", "factor_type", "friendly_name", "name",
    "public", "paths", "prefix", "limit", "transform", "expiresIn", "bucketId", "sourceKey", "messages", "query", "variables",
    "redirect_uris", "schemas", "userName",
)  # fmt: skip
_BODIES = (
    _ARRAYS, _OBJECTS, b"null", b"1", b'"x"', b"true", b"[]", b"[[1]]", b"{}", b"\xff\xfe{", b'{"email":NaN}',
    *(
        json.dumps(dict.fromkeys(_FIELDS, value)).encode()
        for value in (None, 1, -1, 10**400, True, "", "\0", "\ud800", [], [None], [{}], {}, {"a": {"b": 1}})
    ),
    b'{"data":%b,"variables":%b,"options":%b}' % (_ARRAYS, _OBJECTS, _ARRAYS),
)  # fmt: skip
_PLACES = (
    "POST /auth/v1/signup", "POST /auth/v1/otp", "POST /auth/v1/recover", "POST /auth/v1/verify", "PUT /auth/v1/user",
    "POST /auth/v1/token?grant_type=password", "POST /auth/v1/token?grant_type=id_token", "POST /auth/v1/token?grant_type=web3",
    "POST /auth/v1/factors", "POST /auth/v1/sso", "POST /auth/v1/admin/users", "POST /auth/v1/admin/generate_link",
    "POST /auth/v1/oauth/clients/register", "POST /auth/v1/admin/sso/providers", "POST /auth/v1/scim/v2/Users",
    "POST /storage/v1/bucket", "POST /storage/v1/object/list/b", "POST /storage/v1/object/list-v2/b",
    "POST /storage/v1/object/sign/b/k", "POST /storage/v1/object/sign/b", "POST /storage/v1/object/move",
    "DELETE /storage/v1/object/b", "POST /rest/v1/rpc/f", "POST /rest/v1/", "POST /graphql/v1",
    "POST /realtime/v1/api/broadcast", "POST /realtime/v1/api/broadcast/t/events/e",
)  # fmt: skip


def _status(target: Platform, place: str, headers: dict[str, str], body: bytes | None = None) -> int:
    method, _, path = place.partition(" ")
    own = {"apikey": target.values["ANON_KEY"], "content-type": "application/json", **headers}
    request = urllib.request.Request(target.url + path, headers=own, method=method, data=body)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


@pytest.fixture(scope="module")
def crowd() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


@pytest.mark.parametrize("place", _PLACES)
def test_bodies(target: Platform, crowd: ThreadPoolExecutor, place: str) -> None:
    key = target.values["SERVICE_ROLE_KEY"]
    headers = {"authorization": f"Bearer {key}", "apikey": key}

    statuses = list(crowd.map(lambda body: _status(target, place, headers, body), _BODIES))

    assert [status for status in statuses if status >= 500] == []


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize(
    "document", [_ARRAYS, _OBJECTS, b'{"alg":' + _ARRAYS + b"}", b'{"alg":"HS256","kid":{}}', b"1", b"null"]
)
@pytest.mark.parametrize(
    "place",
    [
        "GET /rest/v1/",
        "GET /auth/v1/user",
        "GET /storage/v1/bucket",
        "POST /graphql/v1",
        "GET /realtime/v1/changes",
    ],
)
def test_tokens(target: Platform, place: str, part: int, document: bytes) -> None:
    parts = [b'{"alg":"HS256","typ":"JWT"}', b"{}", b"signature"]
    parts[part] = document[:40_000]
    token = ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts)

    assert (
        _status(target, place, {"authorization": f"Bearer {token}"}, b"{}" if "POST" in place else None) < 500
    )


@pytest.mark.parametrize(
    "query",
    [
        "{a" * 20_000 + "}" * 20_000,
        "query($a: " + "[" * 20_000 + "Int" + "]" * 20_000 + "){a}",
        "{a(b: " + "[" * 20_000 + "]" * 20_000 + ")}",
        "{a(b: " + "{c: " * 20_000 + "1" + "}" * 20_000 + ")}",
        "{" + "...{" * 20_000 + "a" + "}" * 20_001,
        "fragment f on A {...f} {...f}",
        "{" + " ".join(f"...f{n}" for n in range(500)) + "} "
        + " ".join(f"fragment f{n} on Query {{...f{n + 1} ...f{n + 1}}}" for n in range(500)),
        "{a @b" * 2000 + "}" * 2000,
    ],
)  # fmt: skip
def test_graphql_documents(target: Platform, query: str) -> None:
    assert _status(target, "POST /graphql/v1", {}, json.dumps({"query": query}).encode()) < 500


@pytest.mark.parametrize(
    "query",
    [
        "select=" + "a(" * 5000 + ")" * 5000,
        "and=" + "(and" * 5000 + ")" * 5000,
        "or=(" + "not.and(" * 5000 + "a.eq.1" + ")" * 5001,
        "select=" + "a->" * 5000 + "b",
        "a=" + "not." * 5000 + "eq.1",
        "a=in.(" + "(" * 5000 + ")" * 5001,
        "columns=" + '"' * 5001,
        "order=" + "a(" * 5000 + ")" * 5000,
    ],
)
def test_rest_queries(target: Platform, query: str) -> None:
    assert _status(target, f"GET /rest/v1/numbers?{query}", {}) < 500


@pytest.mark.parametrize(
    "document",
    [
        b"<a>" * _DEEP + b"</a>" * _DEEP,
        b"<a " + b'b="' * _DEEP,
        b"<!DOCTYPE a [" + b"<!ENTITY x 'y'>" * 1000 + b"]><a>&x;</a>",
    ],
)
@pytest.mark.parametrize("place", ["POST /auth/v1/sso/saml/acs", "POST /auth/v1/admin/sso/providers"])
def test_saml_documents(target: Platform, place: str, document: bytes) -> None:
    key = target.values["SERVICE_ROLE_KEY"]
    if place.endswith("acs"):
        body = b"SAMLResponse=" + urllib.request.quote(base64.b64encode(document)).encode()
        headers = {"content-type": "application/x-www-form-urlencoded"}
    else:
        body = json.dumps({"type": "saml", "metadata_xml": document.decode()}).encode()
        headers = {"authorization": f"Bearer {key}", "apikey": key}

    assert (
        _status(target, place, headers, body) in range(400, 500)
        or _status(target, place, headers, body) == 501
    )


async def test_frames_of_a_socket(target: Platform) -> None:
    url = f"{target.url}/realtime/v1/websocket?vsn=2.0.0&apikey={target.values['ANON_KEY']}"
    deep = _ARRAYS.decode()
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket, asyncio.timeout(60):
        for text in (deep, f'["1","1","realtime:a","phx_join",{deep}]', f'["1",{deep},"realtime:a","phx_join",{{}}]', "null",
                     '[1,2,3,4,5]', '["1","1","realtime:a","phx_join",null]', '["1","1","realtime:a","phx_join",[]]',
                     '["1","1","realtime:b","phx_join",{"config":[]}]', f'["1","1","realtime:b","phx_join",{{"config":{{"presence":{{"key":{deep}}}}}}}]',
                     f'["1","1","realtime:c","phx_join",{{"config":{{"postgres_changes":[{{"filter":{deep}}},1,null,[]]}}}}]'):  # fmt: skip
            await socket.send_str(text)
        for data in (b"", b"\0", b"\3\xff\xff\xff\xff\xff\1", b"\3\0\0\0\0\0\1" + _ARRAYS):
            await socket.send_bytes(data)
        await socket.send_str('[null,"beat","phoenix","heartbeat",{}]')
        while json.loads(await socket.receive_str())[1] != "beat":
            pass
