"""Requests nobody thought of, to a whole platform: whatever comes, the answer is none of the 5xx, and a refusal says why.

Two sources: schemathesis reads the OpenAPI 3.1 document and makes requests that fit it and that do not; hypothesis makes
bytes and words of the interface's own grammar, sent as they are. Counts are fixed and choices derandomized, so a run is
the same every time; `SCALE` makes it longer for a search by hand.
"""

import http.client
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from schemathesis.generation.modes import GenerationMode

from tests.house.conftest import pid_of
from tests.platform import Platform, platform

pytestmark = [pytest.mark.xdist_group("house"), pytest.mark.timeout(180 * int(os.environ.get("SCALE", "1")))]

HERE = Path(__file__).parent
OPENAPI = "application/vnd.oai.openapi+json;version=3.1"
PARTS = ("edges", "pools", "nats", "postgres")
_TIMEOUT_S = 30
_SCALE = int(os.environ.get("SCALE", "1"))


def _examples(count: int, *phases: Phase) -> settings:
    """Give fixed settings of so many examples."""
    return settings(
        max_examples=count * _SCALE,
        derandomize=True,
        database=None,
        deadline=None,
        phases=phases or (Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Platform]:
    """A platform of its own: what is written here would disturb the other tests."""
    with platform() as one:
        done = one.command("psql", "-f", str(HERE / "fuzz.sql"))
        assert done.returncode == 0, done.stderr
        one.wait_for_catalog("known")
        yield one


@pytest.fixture(scope="module")
def parts(fuzzed: Platform) -> dict[str, int]:
    """The processes of the platform before anything was sent to it."""
    return {name: pid_of(fuzzed, name) for name in PARTS}


@pytest.fixture(scope="module")
def document(fuzzed: Platform, parts: dict[str, int]) -> dict[str, Any]:
    status, body = fuzzed.get("/rest/v1/", {"accept": OPENAPI})
    assert status == 200, body
    return dict(json.loads(body))


@pytest.fixture(scope="module")
def error(document: dict[str, Any]) -> Draft202012Validator:
    """What the document says an error's body is."""
    return Draft202012Validator(document["components"]["schemas"]["error.body"])


# --- requests made from the document -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "key"),
    [(GenerationMode.POSITIVE, "SERVICE_ROLE_KEY"), (GenerationMode.NEGATIVE, "ANON_KEY")],
)
def test_requests_of_the_document_are_answered_as_it_says(
    fuzzed: Platform, document: dict[str, Any], error: Draft202012Validator, mode: GenerationMode, key: str
) -> None:
    described = schemathesis.openapi.from_dict(document)
    headers = {"apikey": fuzzed.values[key]}
    with requests.Session() as session:

        def check(case: Any) -> None:
            answer = case.call(
                base_url=f"{fuzzed.url}/rest/v1", session=session, headers=headers, timeout=_TIMEOUT_S
            )
            told = f"{case.as_curl_command()}\n{answer.status_code} {answer.text[:500]}"
            assert answer.status_code < 500, told
            if answer.status_code == 304:
                assert not answer.content, told
            elif answer.status_code >= 300:
                assert _is_error(error, answer.content), told
            elif answer.content and not {"select", "columns"} & set(case.query or ()):
                case.operation.validate_response(answer, case=case)

        every: list[Any] = list(described.get_all_operations())
        operations = [
            each for each in (one.ok() for one in every) if each.label != "GET /"
        ]  # it takes nothing that could be wrong
        for operation in operations:
            _examples(6)(given(operation.as_strategy(generation_mode=mode))(check))()

    assert len(operations) > 30


# --- bytes ---------------------------------------------------------------------------------------------------

_VISIBLE = bytes(range(0x21, 0x7F))
_TABLES = [b"kinds", b"parents", b"children", b"names", b"odd%20name", b"guarded"]
_FUNCTIONS = [
    b"rpc/add_them",
    b"rpc/family",
    b"rpc/listed",
    b"rpc/joined",
    b"rpc/moved",
    b"rpc/whole",
    b"rpc/shouted",
]
_FUNCTIONS += [b"rpc/measured", b"rpc/written", b"rpc/nothing", b"rpc/", b""]
_QUERY_WORDS = (
    b"select= order= limit= offset= columns= on_conflict= and= or= not.and= children. parents. id= name= words= doc= counts= "
    b"id name words doc counts tags mood place bounds search %22a.b%22 children parents names counted ( ) , . : :: -> ->> ... "
    b"!inner !left !parent count() .sum() * eq. neq. gt. like. ilike(any). match. in.( is.null is. isdistinct. fts. fts(german). "
    b"cs. cd. ov. sl. adj. not. lt(col). distinct= having= cursor= nested=true key= (distinct) true qty.sum().gt.1 { } [ ] %22 %5C %00 %FF %ED%A0%80 %0A %26 + & = 0 1 -1 99999999999999999999 1e400 NaN infinity "
    b"text jsonb int desc asc nullsfirst a null"
).split()
_HEADER_WORDS = (
    b"count=exact count=planned count=estimated return=representation return=minimal return=headers-only missing=default "
    b"resolution=merge-duplicates resolution=ignore-duplicates handling=strict tx=rollback timezone= max-affected= timezone=Asia/Tokyo "
    b'application/json application/vnd.pgrst.object+json application/vnd.pgrst.plan+json text/csv */* ;nulls=stripped for=" " ; , = '
    b"pagination=cursor W/ q=0 q=x 0-9 5- 9-1 - items= bytes= 99999999999999999999999 1 public graphql_public application/openapi+json;version=3.1"
).split()
_HEADER_WORDS += [b" ", b", "]
_BODY_WORDS = (
    b'{ } [ ] : , "id" "name" "words" "doc" "counts" "place" "a" "b" "\\ud800" "\\u0000" "" 1 -1 1e400 null true NaN id,name = & '
    b'id=1 name=a {"id":1,"name":"a"} {"name":"zz"} [{"id":1,"words":"w"}] "x":1 (1,2) '
).split()
_BODY_WORDS += [b"\n", b'"', b"\xff", b"\x00"]
_HEADERS = [
    b"Prefer",
    b"Range",
    b"Accept",
    b"Accept-Profile",
    b"Content-Profile",
    b"Cookie",
    b"Authorization",
    b"X-Client-Info",
    b"If-Match",
    b"If-None-Match",
]
_CONTENT_TYPES = [
    b"application/json",
    b"text/csv",
    b"application/x-www-form-urlencoded",
    b"text/plain",
    b"application/octet-stream",
    b"",
]

anything = st.binary(max_size=40)
visible = st.lists(st.sampled_from(_VISIBLE), max_size=30).map(bytes)
methods = st.sampled_from(
    [b"GET", b"GET", b"GET", b"HEAD", b"POST", b"POST", b"PATCH", b"PUT", b"DELETE", b"OPTIONS"]
)
places = st.sampled_from(_TABLES * 3 + _FUNCTIONS)


def _words(words: list[bytes]) -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(words), max_size=10).map(b"".join)


def _encoded(strategy: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return strategy.map(lambda each: quote_from_bytes(each, safe="").encode())


def _requests(
    raw: st.SearchStrategy[bytes],
) -> st.SearchStrategy[tuple[bytes, bytes, bytes, Any, bytes, bytes]]:
    """Give method, path, query, headers, content type and body; `raw` is what any text of the head may be."""
    return st.tuples(
        methods,
        st.one_of(places, places, raw, _encoded(anything)),
        st.one_of(_words(_QUERY_WORDS), _words(_QUERY_WORDS), raw, _encoded(anything)),
        st.lists(st.tuples(st.sampled_from(_HEADERS), st.one_of(_words(_HEADER_WORDS), raw)), max_size=3),
        st.sampled_from(_CONTENT_TYPES),
        st.one_of(_words(_BODY_WORDS), anything),
    )


def _send(
    fuzzed: Platform, request: tuple[bytes, bytes, bytes, Any, bytes, bytes]
) -> tuple[int, bytes, bytes]:
    """Send a request as its bytes are; give status, body, and what was sent (without the key)."""
    method, path, query, headers, content_type, body = request
    lines = [
        b"%s /rest/v1/%s%s%s HTTP/1.1" % (method, path, b"?" if query else b"", query),
        b"Host: x",
        b"Connection: close",
    ]
    lines += [b"%s: %s" % pair for pair in headers]
    if method in (b"POST", b"PATCH", b"PUT"):
        lines += [b"Content-Type: " + content_type, b"Content-Length: %d" % len(body)]
    else:
        body = b""
    key = b"apikey: " + fuzzed.values["SERVICE_ROLE_KEY"].encode()
    with socket.create_connection(("127.0.0.1", fuzzed.port), timeout=_TIMEOUT_S) as one:
        one.sendall(b"\r\n".join([*lines, key, b"", body]))
        answer = http.client.HTTPResponse(one, method=method.decode())
        answer.begin()
        return answer.status, answer.read(), b"\r\n".join([*lines, b"", body])


def _is_error(error: Draft202012Validator, body: bytes) -> bool:
    """Tell whether a body is what the document says, and nothing more."""
    try:
        told = json.loads(body)
    except ValueError:
        return False
    return bool(error.is_valid(told)) and set(told) - {"operation"} == {"code", "message", "details", "hint"}


def _is_no_http(body: bytes) -> bool:
    """Tell whether a body is the door's refusal of what it could not read: which area was meant, it cannot know."""
    try:
        return list(json.loads(body)) == ["message"]
    except ValueError:
        return False


def _sends(
    fuzzed: Platform,
    count: int,
    made: st.SearchStrategy[Any],
    check: Callable[[bytes, int, bytes, bytes], None],
) -> None:
    """Send so many requests, and check method, status and body of each answer."""

    def send(request: tuple[bytes, bytes, bytes, Any, bytes, bytes]) -> None:
        status, body, sent = _send(fuzzed, request)
        check(request[0], status, body, sent)

    _examples(count)(given(made)(send))()


def test_any_request_that_http_allows_is_answered_or_refused_with_reasons(
    fuzzed: Platform, error: Draft202012Validator
) -> None:
    def check(method: bytes, status: int, body: bytes, sent: bytes) -> None:
        assert status < 500, (sent, status, body)
        if status >= 300 and method != b"HEAD":
            assert _is_error(error, body), (sent, status, body)

    _sends(fuzzed, 800, _requests(visible), check)


def test_any_bytes_are_answered(fuzzed: Platform, error: Draft202012Validator) -> None:
    def check(method: bytes, status: int, body: bytes, sent: bytes) -> None:
        assert status < 500, (sent, status, body)
        if status >= 300 and method != b"HEAD":
            assert _is_error(error, body) or _is_no_http(body), (sent, status, body)

    _sends(fuzzed, 500, _requests(anything), check)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /rest/v1/known?a=\xff HTTP/1.1",
        b"GET /rest/v1/\x01 HTTP/1.1",
        b"GET /rest/v1/known HTTP/1.1\r\nPrefer: \x00",
        b"GET /rest/v1/known HTTP/9.9",
        b"GET /rest/v1/known HTTP/1.1\r\nX-Long: " + b"v" * 200_000,
        b"GET http://[::1/rest/v1/known HTTP/1.1",
        b"POST /rest/v1/known HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
        b"POST /rest/v1/known HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
    ],
)
def test_what_is_no_http_is_refused_and_logs_no_defect(fuzzed: Platform, head: bytes) -> None:
    log = fuzzed.data / "logs" / "edges.log"
    before = log.read_text().count("Traceback")
    with socket.create_connection(("127.0.0.1", fuzzed.port), timeout=_TIMEOUT_S) as one:
        one.sendall(head + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = http.client.HTTPResponse(one)
        answer.begin()
        body = answer.read()

    assert 400 <= answer.status < 500
    assert _is_no_http(body), body
    assert log.read_text().count("Traceback") == before


_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["id", "x", "y", ""]), inner, max_size=2)
    ),
    max_leaves=6,
)
_columns = st.sampled_from(
    ["id", "small", "exact", "words", "code", "stamp", "doc", "counts", "tags", "mood", "place", "bounds"]
)
_rows = st.dictionaries(_columns, _json, max_size=4)


def test_any_json_is_stored_or_refused_with_reasons(fuzzed: Platform, error: Draft202012Validator) -> None:
    def check(method: bytes, status: int, body: bytes, sent: bytes) -> None:
        assert status < 500, (sent, status, body)
        assert status < 300 or _is_error(error, body), (sent, status, body)

    bodies = st.one_of(_rows, st.lists(_rows, max_size=3), _json).map(lambda each: json.dumps(each).encode())
    made = st.tuples(
        st.sampled_from([b"POST", b"PATCH"]),
        st.just(b"kinds"),
        st.just(b"id=eq.1"),
        st.lists(st.just((b"Prefer", b"return=representation, resolution=merge-duplicates")), max_size=1),
        st.just(b"application/json"),
        bodies,
    )
    _sends(fuzzed, 400, made, check)


_references = st.sampled_from(
    ["0.0.id", "p.0.id", "p.1", "p", "0", "", "p.0.doc.x", "1.0.id", "p.-1", "p.99999999999"]
)
_operations = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["GET", "GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS", ""]),
        "path": st.one_of(
            st.sampled_from(["/parents?limit=1", "/kinds?id=eq.1", "/rpc/whole", "/parents?select=id", "/"]),
            _references.map(lambda name: f"/parents?id=eq.{{{name}}}"),
            st.text(max_size=6).map(lambda text: f"/{text}"),
        ),
    },
    optional={
        "headers": st.dictionaries(
            st.sampled_from(["Prefer", "Accept", "Range", "Content-Type", "Content-Profile", "Cookie"]),
            st.one_of(_words(_HEADER_WORDS).map(bytes.decode), st.text(max_size=6)),
            max_size=2,
        ),
        "body": st.one_of(
            _json,
            _rows,
            _references.map(lambda name: {"$ref": name}),
            _references.map(lambda name: {"name": {"$ref": name}}),
        ),
        "as": st.sampled_from(["p", "p", "q", "", "0", None]),
    },
)


def _several(body: bytes) -> tuple[bytes, bytes, bytes, Any, bytes, bytes]:
    return b"POST", b"", b"", [], b"application/json", body


def test_any_operations_are_done_or_refused_with_reasons(
    fuzzed: Platform, error: Draft202012Validator
) -> None:
    def check(method: bytes, status: int, body: bytes, sent: bytes) -> None:
        assert status < 500, (sent, status, body)
        assert status < 300 or _is_error(error, body), (sent, status, body)

    made = st.lists(_operations, max_size=3).map(lambda several: _several(json.dumps(several).encode()))
    _sends(fuzzed, 300, made, check)


_LEADING = b'[{"method": "GET", "path": "/rpc/joined?words=a", "as": "p"}, {"method": "GET", "path": "/parents", "as": "q"}, {"method": "POST", "path": "/rpc/whole", "body": %s}]'


@pytest.mark.parametrize(
    "body",
    [
        _LEADING % (b'{"$ref": "q.' + b"9" * 5000 + b'"}'),
        _LEADING % (b'[{"$ref": "p"}, ' + b"[" * 880 + b"]" * 881),
    ],
    ids=["a number of 5,000 digits", "880 arrays inside one another"],
)
def test_references_out_of_all_measure_are_refused(
    fuzzed: Platform, error: Draft202012Validator, body: bytes
) -> None:
    status, answer, _ = _send(fuzzed, _several(body))

    assert status == 400
    assert _is_error(error, answer), answer


def test_afterwards_the_platform_is_the_same_and_still_answers(
    fuzzed: Platform, parts: dict[str, int], document: dict[str, Any]
) -> None:
    status, body = fuzzed.get("/rest/v1/", {"accept": OPENAPI})

    assert (status, json.loads(body)) == (200, document)
    assert {name: pid_of(fuzzed, name) for name in PARTS} == parts
    assert fuzzed.get("/rest/v1/known") == (200, b"[]")
