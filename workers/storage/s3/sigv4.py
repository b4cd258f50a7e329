"""AWS Signature Version 4, read and held against what was received. Pure.

    a request --> Claimed (who says to have signed what, when)
    Claimed + method, path, query, headers --> canonical request --> string to sign --> signature, compared in constant time

Two forms: the header `Authorization`, valid for 15 minutes on either side of its date, and a query (presigned), valid
from its date for as long as it says. A path is decoded and spelled anew, so it does not matter which signs a client
escaped that need not be. Headers `x-amz-*` must be signed: what is not could have been added by somebody on the way.
Source: reference page "storage", section 10; "Signature Version 4 signing process" of the Amazon S3 API reference.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import quote, unquote_to_bytes

from schemas.numbers import parse_whole_number
from workers.storage.s3.errors import S3Error, expired, mismatch, missing_signature, too_skewed

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
SKEW_S = 15 * 60
LONGEST_S = 604_800
"""Seconds that a presigned URL holds at most: a week."""

_SCOPE_END = "aws4_request"
_SERVICE = "s3"
_HEADER = re.compile(
    r"AWS4-HMAC-SHA256\s+Credential=([^,\s]{1,300})\s*,\s*SignedHeaders=([^,\s]{1,4000})\s*,\s*Signature=([0-9a-f]{64})"
)
_HEX = re.compile(r"[0-9a-f]{64}")
_DATE = re.compile(r"\d{8}T\d{6}Z", re.ASCII)
"""As many digits as a week of seconds has: what is checked is then the whole number that is used."""
_SPACES = re.compile(r" +")
_SIGNED_ELSEWHERE = frozenset({"x-amz-content-sha256", "x-amz-date", "x-amz-user-agent", "x-amz-cf-id"})
"""May stand outside of the signed headers: the first two are signed by themselves, the others mean nothing here."""

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a request says of its signature; nothing of it is verified."""

    access_key: str
    day: str
    region: str
    signed: tuple[str, ...]
    signature: str
    date: str
    payload: str
    """`x-amz-content-sha256`: a hash in hex, or how the payload is signed."""
    expires_s: int | None = None
    """Seconds that a presigned URL holds; None for a signature in the header."""
    token: str = ""

    @property
    def scope(self) -> str:
        """Give what the key is for."""
        return f"{self.day}/{self.region}/{_SERVICE}/{_SCOPE_END}"


def read_claim(headers: Mapping[str, str], query: Pairs) -> Claimed:
    """Read what a request says of its signature. Header names are in lower case, the query is decoded. Raises: S3Error."""
    asked = dict(reversed(query))
    if "X-Amz-Algorithm" in asked or "X-Amz-Signature" in asked:
        return _of_query(asked, headers)
    return _of_header(headers)


def _of_header(headers: Mapping[str, str]) -> Claimed:
    text = headers.get("authorization", "").strip()
    if not text.startswith("AWS4-HMAC-SHA256"):
        raise missing_signature()
    found = _HEADER.fullmatch(text)
    if found is None:
        raise _malformed("The authorization header is malformed.")
    payload = headers.get("x-amz-content-sha256", "").strip()
    if not payload:
        raise S3Error("InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
    access_key, day, region = read_credential(found[1])
    date = _date_of(headers)
    if not date.startswith(day):
        raise _malformed("The date of the credential is not that of the request.")
    signed = tuple(found[2].lower().split(";"))
    token = headers.get("x-amz-security-token", "")
    return Claimed(access_key, day, region, signed, found[3], date, payload, None, token)


def _of_query(asked: Mapping[str, str], headers: Mapping[str, str]) -> Claimed:
    names = ("X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature")
    values = [asked.get(name, "") for name in names]
    if not all(values) or asked.get("X-Amz-Algorithm") != ALGORITHM:
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
    payload = asked.get("X-Amz-Content-Sha256") or headers.get("x-amz-content-sha256", "").strip() or UNSIGNED
    token = asked.get("X-Amz-Security-Token", "")
    return Claimed(
        access_key, day, region, tuple(signed.lower().split(";")), signature, date, payload, lasts_s, token
    )


def read_credential(text: str) -> tuple[str, str, str]:
    """Split a credential into key, day and region: a key may hold slashes, what follows it may not. Raises: S3Error."""
    parts = text.rsplit("/", 4)
    if (
        len(parts) != 5
        or parts[3:] != [_SERVICE, _SCOPE_END]
        or not re.fullmatch(r"\d{8}", parts[1], re.ASCII)
    ):
        raise _malformed("The credential must be <key>/<date>/<region>/s3/aws4_request.")
    return parts[0], parts[1], parts[2]


def _date_of(headers: Mapping[str, str]) -> str:
    """Give the date of a request in the form in which it is signed."""
    text = headers.get("x-amz-date", "").strip()
    if not text and "date" in headers:
        try:
            text = parsedate_to_datetime(headers["date"]).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        except (ValueError, OverflowError):
            text = ""
    if not _DATE.fullmatch(text):
        raise S3Error("AccessDenied", "AWS authentication requires a valid Date or x-amz-date header", 403)
    return text


def refuse_bad_time(claimed: Claimed, now: float) -> None:
    """Raises: S3Error if a signature is not valid at a time of seconds since 1970."""
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


def refuse_other_region(claimed: Claimed, configured: str) -> None:
    """Raises: S3Error for a region that is not ours. `auto`, none, and the usual one are taken always."""
    if claimed.region not in (configured, "us-east-1", "auto", ""):
        message = f"The authorization header is malformed; the region '{claimed.region}' is wrong; expecting '{configured}'"
        raise S3Error("AuthorizationHeaderMalformed", message, Region=configured)


def refuse_unsigned(claimed: Claimed, headers: Mapping[str, str]) -> None:
    """Raises: S3Error if the host, or a header that S3 reads, is not signed."""
    signed = set(claimed.signed)
    apart = [name for name in headers if name.startswith("x-amz-") and name not in signed | _SIGNED_ELSEWHERE]
    if "host" not in signed or apart:
        told = ", ".join(sorted(apart)) or "host"
        raise S3Error(
            "AccessDenied", f"There were headers present in the request which were not signed: {told}", 403
        )


def verify_policy(claimed: Claimed, secret: str, policy: str) -> bytes:
    """Hold the signature of a form against its policy, as it was sent; give the signing key. Raises: S3Error."""
    key = signing_key(secret, claimed.day, claimed.region)
    if not hmac.compare_digest(signature(key, policy), claimed.signature):
        raise mismatch()
    return key


def verify(claimed: Claimed, secret: str, request: str) -> bytes:
    """Hold a signature against a canonical request; give the signing key. Raises: S3Error."""
    key = signing_key(secret, claimed.day, claimed.region)
    made = signature(key, string_to_sign(claimed.date, claimed.scope, request))
    if not hmac.compare_digest(made, claimed.signature):
        raise mismatch()
    return key


def canonical_request(
    method: str, path: str, query: Pairs, headers: Mapping[str, str], signed: Sequence[str], payload: str
) -> str:
    """Spell a request as it is signed. `headers` are joined where they were repeated; names in lower case."""
    lines = [f"{name}:{_SPACES.sub(' ', headers.get(name, '').strip())}\n" for name in signed]
    parts = (method, canonical_path(path), canonical_query(query), "".join(lines), ";".join(signed), payload)
    return "\n".join(parts)


def canonical_path(path: str) -> str:
    """Spell a path: each byte escaped but for the plain ones and slashes; nothing is left out or put together."""
    return quote(unquote_to_bytes(path), safe="/-_.~") or "/"


def canonical_query(query: Pairs) -> str:
    """Spell a decoded query, sorted by what it is escaped to, without the signature itself."""
    escaped = [
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in query
        if name != "X-Amz-Signature"
    ]
    return "&".join(f"{name}={value}" for name, value in sorted(escaped))


def string_to_sign(date: str, scope: str, request: str) -> str:
    """Give what is signed in place of a canonical request."""
    hashed = hashlib.sha256(request.encode("utf-8", "surrogatepass")).hexdigest()
    return "\n".join((ALGORITHM, date, scope, hashed))


def signing_key(secret: str, day: str, region: str, service: str = _SERVICE) -> bytes:
    """Give the key that signs on a day in a region."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, _SCOPE_END):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def signature(key: bytes, text: str) -> str:
    """Sign a text."""
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256").hex()


def _malformed(message: str) -> S3Error:
    return S3Error("AuthorizationHeaderMalformed", message)


def _bad_query(message: str) -> S3Error:
    return S3Error("AuthorizationQueryParametersError", message)
