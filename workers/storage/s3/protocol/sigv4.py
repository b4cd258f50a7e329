"""AWS Signature Version 4: parse the signature of a request and verify it. Pure.

    request --> SignatureClaim (key id, date, region, signed headers; not verified yet)
    SignatureClaim + method, path, query, headers --> canonical request --> string to sign --> HMAC, compared in constant time

The signing key is a chain of HMAC-SHA256 over day, region and service, so a leaked one is valid for a day. Two forms
exist: the header `Authorization`, valid for 15 minutes before and after its date, and a query (presigned URL), valid
from its date for `X-Amz-Expires` seconds. The path is decoded and encoded again, so it does not matter which optional
characters a client escaped. Every `x-amz-*` header must be signed: an unsigned one could have been added on the way.
Source: docs/reference/storage.md, section 10; "Signature Version 4 signing process" of the Amazon S3 API reference.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import quote, unquote_to_bytes

from schemas.numbers import parse_whole_number
from workers.storage.s3.protocol.errors import S3Error, expired, mismatch, missing_signature, too_skewed

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
SKEW_S = 15 * 60
LONGEST_S = 604_800
"""Maximum seconds that a presigned URL is valid: a week."""

_SCOPE_END = "aws4_request"
_SERVICE = "s3"
_HEADER = re.compile(
    r"AWS4-HMAC-SHA256\s+Credential=([^,\s]{1,300})\s*,\s*SignedHeaders=([^,\s]{1,4000})\s*,\s*Signature=([0-9a-f]{64})"
)
_HEX = re.compile(r"[0-9a-f]{64}")
_DATE = re.compile(r"\d{8}T\d{6}Z", re.ASCII)
"""Exactly the digits of a date, so the text that is checked is the text that is used."""
_SPACES = re.compile(r" +")
_SIGNED_ELSEWHERE = frozenset({"x-amz-content-sha256", "x-amz-date", "x-amz-user-agent", "x-amz-cf-id"})
"""Headers that may be unsigned: the first two are part of the string to sign, the others are ignored here."""

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class SignatureClaim:
    """The signature that a request presents; nothing of it is verified."""

    access_key: str
    day: str
    region: str
    signed: tuple[str, ...]
    signature: str
    date: str
    payload: str
    """`x-amz-content-sha256`: a hash in hex, or how the payload is signed."""
    expires_s: int | None = None
    """Seconds that a presigned URL is valid; None for a signature in the header."""
    token: str = field(default="", repr=False)

    @property
    def scope(self) -> str:
        """Return the credential scope: day, region, service."""
        return f"{self.day}/{self.region}/{_SERVICE}/{_SCOPE_END}"


def read_claim(headers: Mapping[str, str], query: Pairs) -> SignatureClaim:
    """Parse the signature of a request. Header names are in lower case, the query is decoded. Raises: S3Error."""
    parameters = dict(reversed(query))
    if "X-Amz-Algorithm" in parameters or "X-Amz-Signature" in parameters:
        return _of_query(parameters, headers)
    return _of_header(headers)


def _of_header(headers: Mapping[str, str]) -> SignatureClaim:
    text = headers.get("authorization", "").strip()
    if not text.startswith("AWS4-HMAC-SHA256"):
        raise missing_signature()
    match = _HEADER.fullmatch(text)
    if match is None:
        raise _malformed("The authorization header is malformed.")
    payload = headers.get("x-amz-content-sha256", "").strip()
    if not payload:
        raise S3Error("InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
    access_key, day, region = read_credential(match[1])
    date = _date_of(headers)
    if not date.startswith(day):
        raise _malformed("The date of the credential is not that of the request.")
    signed = tuple(match[2].lower().split(";"))
    token = headers.get("x-amz-security-token", "")
    return SignatureClaim(access_key, day, region, signed, match[3], date, payload, None, token)


def _of_query(parameters: Mapping[str, str], headers: Mapping[str, str]) -> SignatureClaim:
    names = ("X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature")
    values = [parameters.get(name, "") for name in names]
    if not all(values) or parameters.get("X-Amz-Algorithm") != ALGORITHM:
        raise _bad_query("Query-string authentication requires all of its parameters")
    credential, date, expires, signed, signature = values
    lasts_s = parse_whole_number(expires, least=1, most=LONGEST_S)
    if lasts_s is None:
        raise _bad_query(f"X-Amz-Expires must be between 1 and {LONGEST_S} seconds")
    if not _DATE.fullmatch(date) or not _HEX.fullmatch(signature):
        raise _bad_query("X-Amz-Date or X-Amz-Signature is malformed")
    access_key, day, region = read_credential(credential)
    if not date.startswith(day):
        raise _bad_query("The date of the credential is not that of the request.")
    payload = (
        parameters.get("X-Amz-Content-Sha256") or headers.get("x-amz-content-sha256", "").strip() or UNSIGNED
    )
    token = parameters.get("X-Amz-Security-Token", "")
    return SignatureClaim(
        access_key, day, region, tuple(signed.lower().split(";")), signature, date, payload, lasts_s, token
    )


def read_credential(text: str) -> tuple[str, str, str]:
    """Split a credential into key, day and region; only the key may contain slashes. Raises: S3Error."""
    parts = text.rsplit("/", 4)
    if (
        len(parts) != 5
        or parts[3:] != [_SERVICE, _SCOPE_END]
        or not re.fullmatch(r"\d{8}", parts[1], re.ASCII)
    ):
        raise _malformed("The credential must be <key>/<date>/<region>/s3/aws4_request.")
    return parts[0], parts[1], parts[2]


def _date_of(headers: Mapping[str, str]) -> str:
    """Return the date of a request in the form that is signed."""
    text = headers.get("x-amz-date", "").strip()
    if not text and "date" in headers:
        try:
            text = parsedate_to_datetime(headers["date"]).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        except (ValueError, OverflowError):
            text = ""
    if not _DATE.fullmatch(text):
        raise S3Error("AccessDenied", "AWS authentication requires a valid Date or x-amz-date header", 403)
    return text


def check_time(claimed: SignatureClaim, now: float) -> None:
    """Raises: S3Error if a signature is not valid at `now`, in seconds since 1970."""
    try:
        begins = datetime.strptime(claimed.date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise S3Error("AccessDenied", "The date of the request is no date", 403) from None
    if begins > now + SKEW_S:
        raise too_skewed()
    if claimed.expires_s is None and begins < now - SKEW_S:
        raise too_skewed()
    if claimed.expires_s is not None and now > begins + claimed.expires_s:
        raise expired()


def check_region(claimed: SignatureClaim, configured: str) -> None:
    """Raises: S3Error for another region. `auto`, an empty one and `us-east-1` are always accepted."""
    if claimed.region not in (configured, "us-east-1", "auto", ""):
        message = f"The authorization header is malformed; the region '{claimed.region}' is wrong; expecting '{configured}'"
        raise S3Error("AuthorizationHeaderMalformed", message, Region=configured)


def check_signed_headers(claimed: SignatureClaim, headers: Mapping[str, str]) -> None:
    """Raises: S3Error if `host`, or an `x-amz-*` header, is not signed."""
    signed = set(claimed.signed)
    apart = [name for name in headers if name.startswith("x-amz-") and name not in signed | _SIGNED_ELSEWHERE]
    if "host" not in signed or apart:
        names = ", ".join(sorted(apart)) or "host"
        raise S3Error(
            "AccessDenied", f"There were headers present in the request which were not signed: {names}", 403
        )


def verify_policy(claimed: SignatureClaim, secret: str, policy: str) -> bytes:
    """Verify the signature of a form over its base64 policy; return the signing key. Raises: S3Error."""
    key = signing_key(secret, claimed.day, claimed.region)
    if not hmac.compare_digest(signature(key, policy), claimed.signature):
        raise mismatch()
    return key


def verify(claimed: SignatureClaim, secret: str, request: str) -> bytes:
    """Verify a signature over a canonical request; return the signing key. Raises: S3Error."""
    key = signing_key(secret, claimed.day, claimed.region)
    expected = signature(key, string_to_sign(claimed.date, claimed.scope, request))
    # In constant time: the duration must not tell how many characters were right.
    if not hmac.compare_digest(expected, claimed.signature):
        raise mismatch()
    return key


def canonical_request(
    method: str, path: str, query: Pairs, headers: Mapping[str, str], signed: Sequence[str], payload: str
) -> str:
    """Return the canonical request. `headers` are already joined; names in lower case."""
    lines = [f"{name}:{_SPACES.sub(' ', headers.get(name, '').strip())}\n" for name in signed]
    parts = (method, canonical_path(path), canonical_query(query), "".join(lines), ";".join(signed), payload)
    return "\n".join(parts)


def canonical_path(path: str) -> str:
    """Return a path with every byte escaped except unreserved ones and slashes; nothing is normalized."""
    return quote(unquote_to_bytes(path), safe="/-_.~") or "/"


def canonical_query(query: Pairs) -> str:
    """Return a decoded query, escaped, sorted, and without the signature itself."""
    escaped = [
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in query
        if name != "X-Amz-Signature"
    ]
    return "&".join(f"{name}={value}" for name, value in sorted(escaped))


def string_to_sign(date: str, scope: str, request: str) -> str:
    """Return the text whose HMAC is the signature."""
    hashed = hashlib.sha256(request.encode("utf-8", "surrogatepass")).hexdigest()
    return "\n".join((ALGORITHM, date, scope, hashed))


def signing_key(secret: str, day: str, region: str, service: str = _SERVICE) -> bytes:
    """Return the key that signs on a day in a region."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, _SCOPE_END):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def signature(key: bytes, text: str) -> str:
    """Return the HMAC of a text in hex."""
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256").hex()


def _malformed(message: str) -> S3Error:
    return S3Error("AuthorizationHeaderMalformed", message)


def _bad_query(message: str) -> S3Error:
    return S3Error("AuthorizationQueryParametersError", message)
