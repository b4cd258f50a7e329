"""Requests to the S3 endpoint: signed ones get an answer of S3, and one that was altered after it was signed is refused.

A case is a request to be signed, with lines that say what becomes of it afterwards:

    user PUT /storage/v1/s3/open/a?x=1
    x-amz-acl: private               a header, signed like all others
    presigned: 900                   sign in the query, for so many seconds, in place of the header `authorization`
    sent-as: GET /storage/v1/s3/b    method and target in place of those that were signed
    sent-header: range: bytes=0-9    a header put there, or in place of the signed one
    sent-body: other bytes           a body in place of the one that was signed

The signer here is not ours to test, and stands on the standard library alone.
"""

import hashlib
import hmac
import time
from collections.abc import Mapping
from random import Random
from urllib.parse import parse_qsl, quote, unquote_to_bytes
from xml.parsers import expat

import pytest

from tests.fuzz.conftest import S3_ID, S3_SECRET
from tests.fuzz.core import Budget, Target, run
from tests.fuzz.grammar import Grammar
from tests.fuzz.wire import Answer, Case, Wire, check_always, check_share, made_by, read_case

pytestmark = pytest.mark.process_group("fuzz")

_GRAMMAR = Grammar(
    r"""
start: «wild» | «wild» | user GET «good»\npresigned: 900\n«galtered»\n | user GET «good»\n«galtered»\n | user PUT /storage/v1/s3/open/a\n«gheader»«gput»\nbytes | user GET «good»\n«gheader»\n
good: /storage/v1/s3 | /storage/v1/s3/open | /storage/v1/s3/open?list-type=2&prefix=a&max-keys=2 | /storage/v1/s3/open/a | /storage/v1/s3/open/a?tagging | /storage/v1/s3/open?location | /storage/v1/s3/open/a?response-content-type=text/plain | /storage/v1/s3/open?uploads
galtered: | sent-as: GET «good»\n | sent-as: GET /storage/v1/s3/closed/secret.txt\n | sent-as: DELETE /storage/v1/s3/open/gone\n | sent-as: GET /storage/v1/s3/open/a?x-id=«plain»\n | sent-header: x-amz-date: «plain»\n | sent-header: x-amz-acl: private\n | sent-header: range: bytes=0-1\n | sent-header: host: evil.example\n
gheader: | range: bytes=0-1\n | x-amz-meta-a: b\n | if-none-match: "x"\n | content-type: text/plain\n | x-amz-content-sha256: UNSIGNED-PAYLOAD\n
gput: | sent-body: other\n | sent-as: PUT /storage/v1/s3/closed/other\n | sent-header: x-amz-meta-a: c\n | sent-header: content-type: text/html\n
wild: user «method» «target»\n«headers»«altered»\n«body» | user «method» «target»\n«headers»\n«body» | user GET «target»\npresigned: «seconds»\n«altered»\n | user PUT /storage/v1/s3/open/«key»\n«headers»\nbytes | user GET /storage/v1/s3/open?«query»\n\n | user POST /storage/v1/s3/open?delete\n\n<Delete><Object><Key>«plain»</Key></Object><Quiet>«plain»</Quiet></Delete> | user POST /storage/v1/s3/open/«key»?uploadId=«plain»\n\n<CompleteMultipartUpload><Part><PartNumber>«number»</PartNumber><ETag>«plain»</ETag></Part></CompleteMultipartUpload> | user PUT /storage/v1/s3/open/«key»\nx-amz-copy-source: «source»\n«headers»\n
method: GET | PUT | HEAD | DELETE | POST | OPTIONS
target: /storage/v1/s3 | /storage/v1/s3/«bucket» | /storage/v1/s3/«bucket»?«query» | /storage/v1/s3/«bucket»/«key» | /storage/v1/s3/«bucket»/«key»?«query»
bucket: open | open | closed | nowhere | OPEN | .. | %2e%2e | a.b | «plain»
key: a | b/c | «plain» | %2e%2e/x | a%20b | a+b | ü | %FF | %00 | a%2Fb | ~ | a//b | «long»
query: «parameter» | «parameter»&«parameter» | «parameter»&«parameter»&«parameter»
parameter: list-type=2 | prefix=«plain» | delimiter=/ | max-keys=«number» | continuation-token=«plain» | start-after=«plain» | marker=«plain» | encoding-type=url | versions | uploads | uploadId=«plain» | partNumber=«number» | part-number-marker=«number» | tagging | acl | location | versioning | policy | cors | lifecycle | response-content-type=text/html | response-content-disposition=a%0d%0ab | X-Amz-Acl=private | attributes | x-id=GetObject | fetch-owner=true | max-uploads=«number» | max-parts=«number» | nowhere | =
headers: | «header»\n | «header»\n«header»\n
header: range: bytes=«number»-«number» | range: bytes=-«number» | if-match: «plain» | if-modified-since: «plain» | content-type: «plain» | cache-control: «plain» | x-amz-acl: public-read | x-amz-meta-a: «plain» | x-amz-meta-«plain»: b | x-amz-checksum-crc32: AAAAAA== | x-amz-checksum-sha256: «plain» | content-md5: «plain» | x-amz-tagging: a=b | x-amz-copy-source-range: bytes=«number»-«number» | x-amz-metadata-directive: «plain» | x-amz-content-sha256: «payload» | x-amz-decoded-content-length: «number» | content-encoding: aws-chunked | x-amz-security-token: «plain» | x-amz-object-attributes: ETag,«plain» | x-amz-date: «plain» | x-amz-trailer: x-amz-checksum-crc32
payload: UNSIGNED-PAYLOAD | STREAMING-AWS4-HMAC-SHA256-PAYLOAD | STREAMING-UNSIGNED-PAYLOAD-TRAILER | «plain»
altered: sent-as: «method» «target»\n | sent-header: «header»\n | sent-header: x-amz-date: 20200101T000000Z\n | sent-body: other\n | sent-header: host: evil.example\n | sent-header: authorization: AWS4-HMAC-SHA256 Credential=«plain»/20240101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=«hex»\n | sent-as: GET /storage/v1/s3/closed/secret.txt\n
seconds: 900 | 1 | 604800 | 604801 | 0 | -1 | 00006048000 | «huge» | 0000000001«huge» | 9e9 | «plain»
source: /open/a | open/a | closed/secret.txt | /closed/secret.txt?versionId=x | /open/%2e%2e/closed/secret.txt | «plain» | %FF | //
number: 0 | 1 | 5 | 1000 | -1 | 10001 | 99999999999999999999 | «huge» | 00000000000000000001 | 1e3 | «plain»
body: | bytes | 5;chunk-signature=«hex»\r\nhello\r\n0;chunk-signature=«hex»\r\n\r\n | 5\r\nhello\r\n0\r\nx-amz-checksum-crc32:x\r\n\r\n | <Tagging/> | <Delete> | <a xmlns="x">«plain»</a> | <!DOCTYPE a [<!ENTITY b "c">]><Delete>&b;</Delete> | <CreateBucketConfiguration><LocationConstraint>«plain»</LocationConstraint></CreateBucketConfiguration>
plain: a | "" | .. | ../closed/secret.txt | ü | %00 | \\ | <b> | * | «hex» | / | aGVsbG8= | x y | a&b | text/html | image/png, text/html
""",
    huge=lambda random: "9" * random.choice((12, 400, 5000)),
    long=lambda random: "a" * random.choice((300, 1025)),
    hex=lambda random: f"{random.getrandbits(256):064x}",
)
_DIRECTIVES = frozenset({b"presigned", b"sent-as", b"sent-header", b"sent-body"})
_SIGNED_APART = frozenset({"x-amz-content-sha256", "x-amz-date"})
Request = tuple[bytes, bytes, dict[str, str], bytes]
"""Method, target, headers, body."""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _escaped(text: str, safe: str = "-_.~") -> str:
    return quote(text.encode("utf-8", "surrogateescape"), safe=safe)


def _pairs(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query, keep_blank_values=True, errors="surrogateescape", max_num_fields=10_000)


def _meaning(request: Request, names: list[str]) -> tuple[object, ...]:
    """Return all that a signature stands for."""
    method, target, headers, body = request
    path, _, query = _text(target).partition("?")
    pairs = sorted((name, value) for name, value in _pairs(query) if name != "X-Amz-Signature")
    signed = tuple((name, " ".join(headers.get(name, "").split())) for name in names)
    return method, unquote_to_bytes(path), pairs, signed, hashlib.sha256(body).hexdigest()


def _signature(request: Request, names: list[str], date: str, payload: str) -> str:
    method, target, headers, _ = request
    path, _, query = _text(target).partition("?")
    spelled = "&".join(
        f"{name}={value}"
        for name, value in sorted((_escaped(name), _escaped(value)) for name, value in _pairs(query))
    )
    path = quote(unquote_to_bytes(path.encode("utf-8", "surrogateescape")), safe="/-_.~")
    lines = "".join(f"{name}:{headers[name].strip()}\n" for name in names)
    canonical = "\n".join((_text(method), path, spelled, lines, ";".join(names), payload))
    scope = f"{date[:8]}/us-east-1/s3/aws4_request"
    hashed = hashlib.sha256(canonical.encode("utf-8", "surrogateescape")).hexdigest()
    text = "\n".join(("AWS4-HMAC-SHA256", date, scope, hashed))
    key = f"AWS4{S3_SECRET}".encode()
    for part in (date[:8], "us-east-1", "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


def _signed(case: Case, directives: Mapping[bytes, bytes], host: str) -> tuple[Request, list[str]]:
    """Sign a request as a client does; give the names of its signed headers too."""
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    given = {
        _text(name.strip().lower()): _text(value)
        for name, value in case.headers
        if name.strip().lower() not in _DIRECTIVES
    }
    headers = {
        "host": host,
        "x-amz-date": date,
        "x-amz-content-sha256": hashlib.sha256(case.body).hexdigest(),
        **given,
    }
    credential = f"{S3_ID}/{date[:8]}/us-east-1/s3/aws4_request"
    if b"presigned" not in directives:
        names = sorted(headers)
        signature = _signature(
            (case.method, case.target, headers, case.body), names, date, headers["x-amz-content-sha256"]
        )
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={';'.join(names)}, Signature={signature}"
        )
        return (case.method, case.target, headers, case.body), names
    headers = {name: value for name, value in headers.items() if name not in _SIGNED_APART}
    names = sorted(headers)
    asked = {"X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": credential, "X-Amz-Date": date,
             "X-Amz-Expires": _text(directives[b"presigned"]), "X-Amz-SignedHeaders": ";".join(names)}  # fmt: skip
    query = "&".join(f"{name}={_escaped(value)}" for name, value in asked.items())
    target = case.target + (b"&" if b"?" in case.target else b"?") + query.encode()
    signature = _signature((case.method, target, headers, case.body), names, date, "UNSIGNED-PAYLOAD")
    return (case.method, target + b"&X-Amz-Signature=" + signature.encode(), headers, case.body), names


def _altered(request: Request, directives: Mapping[bytes, bytes]) -> Request:
    """Do to a signed request what a case says."""
    method, target, headers, body = request
    if (line := directives.get(b"sent-as")) is not None:
        method, _, target = line.partition(b" ")
        method, target = method or b"GET", target or b"/"
        if b"presigned" in directives:  # what was signed in the query stays there
            own = b"&".join(
                part for part in request[1].partition(b"?")[2].split(b"&") if part.startswith(b"X-Amz-")
            )
            target += (b"&" if b"?" in target else b"?") + own
    if (line := directives.get(b"sent-header")) is not None:
        name, _, value = line.partition(b":")
        headers = {**headers, _text(name.strip().lower()): _text(value.strip())}
    return method, target, headers, directives.get(b"sent-body", body)


class _Endpoint:
    """Sends signed requests."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        text = (b"content-type", b"text/plain")
        stored = Case(
            "service",
            b"PUT",
            b"/storage/v1/object/closed/secret.txt",
            (text, (b"x-upsert", b"true")),
            b"planted-secret-object",
        )
        assert wire.send(stored).status == 200
        assert (
            self._send(
                _signed(read_case(b"user PUT /storage/v1/s3/open/a\n\nbytes"), {}, "127.0.0.1")[0]
            ).status
            == 200
        )

    def check(self, data: bytes) -> None:
        """Send a case; what was altered is refused, and every error is one of S3."""
        case = read_case(data)
        directives = {
            name.strip().lower(): value for name, value in case.headers if name.strip().lower() in _DIRECTIVES
        }
        request, names = _signed(case, directives, "127.0.0.1")
        sent = _altered(request, directives)
        answer = self._send(sent)
        if not case.target.startswith(b"/storage/v1/s3") or not sent[1].startswith(b"/storage/v1/s3"):
            return
        check_always(
            Case("service", *case_parts(case)), answer
        )  # an S3 key of the project sees all that is stored
        if answer.status < 300 and sent[0] not in (b"OPTIONS", b"HEAD") and _is_about_s3(sent[1]):
            signed = [name for name in names if name not in ("connection", "content-length")]
            before, after = _meaning(request, signed), _meaning(sent, signed)
            is_body_signed = len(sent[2].get("x-amz-content-sha256", "")) == 64
            assert before[:-1] == after[:-1], "a request that was altered after it was signed is taken"
            assert before[-1] == after[-1] or not is_body_signed, "another body than the signed one is taken"
        if answer.status >= 400 and sent[0] != b"HEAD" and answer.body.startswith(b"<"):
            expat.ParserCreate().Parse(answer.body, True)

    def _send(self, request: Request) -> Answer:
        method, target, headers, body = request
        lines = tuple(
            (name.encode("utf-8", "surrogateescape"), value.encode("utf-8", "surrogateescape"))
            for name, value in headers.items()
            if name != "authorization"
        )
        keys = (
            (b"authorization: " + headers["authorization"].encode("utf-8", "surrogateescape"),)
            if "authorization" in headers
            else ()
        )
        return self._wire.send(Case("service", method, target, lines, body), keys)


def case_parts(case: Case) -> tuple[bytes, bytes, tuple[tuple[bytes, bytes], ...], bytes]:
    """Return a case without its caller."""
    return case.method, case.target, case.headers, case.body


def _is_about_s3(target: bytes) -> bool:
    return target.partition(b"?")[0].startswith(b"/storage/v1/s3")


def _generated(random: Random) -> bytes:
    return made_by(_GRAMMAR, random)


def test_any_signed_request_is_answered_and_an_altered_one_refused(budget: Budget, wire: Wire) -> None:
    run(Target("s3", _generated, _Endpoint(wire).check, 800, _GRAMMAR.words, share=7), budget)

    check_share(wire, 0.1)
