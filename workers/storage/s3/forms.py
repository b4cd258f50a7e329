"""Uploads by a form that a policy allows (presigned POST): what a server signed, a browser sends with its file.

    fields --> Policy (who signed it, until when, its conditions) --> every field held against it --> an upload as any other

Each field must be named by a condition, but for those that are the signature itself or begin with `x-ignore-`.
Source: reference page "storage", section 10; "Creating a POST policy" of the Amazon S3 API reference.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

import msgspec

from schemas.http import Response
from workers.storage.context import Store
from workers.storage.s3 import sigv4, xml
from workers.storage.s3.asking import Asking
from workers.storage.s3.errors import S3Error, missing_signature
from workers.storage.s3.objects import upload_of
from workers.storage.s3.receiving import received
from workers.storage.s3.sigv4 import ALGORITHM, UNSIGNED, Claimed
from workers.storage.uploads import commit, grant

FIELDS = ":form"
"""Header in which the door hands the fields on (`services/gateway/s3_form.py`); no client can send it."""
_UNNAMED = frozenset({"policy", "x-amz-signature", "file"})
_AS_HEADERS = ("content-type", "cache-control", "x-robots-tag")
_LONGEST_POLICY = 64 * 1024
_DATE = re.compile(r"\d{8}T\d{6}Z", re.ASCII)
_HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)

Condition = tuple[str, str, str]
"""How, which field (lower case), which value."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a signed policy allows."""

    expires: float
    conditions: tuple[Condition, ...]
    least: int = 0
    most: int | None = None


def fields_of(asking: Asking) -> dict[str, str] | None:
    """Give the fields of a form, names in lower case; None for a request that is none."""
    told = asking.headers.get(FIELDS)
    return None if told is None else msgspec.json.decode(told, type=dict[str, str])


def claim_of(fields: Mapping[str, str]) -> Claimed:
    """Read who says to have signed the policy of a form. Raises: S3Error."""
    if not fields.get("policy"):
        raise missing_signature()
    date, signature = fields.get("x-amz-date", ""), fields.get("x-amz-signature", "")
    if (
        fields.get("x-amz-algorithm") != ALGORITHM
        or not _DATE.fullmatch(date)
        or not _HEX.fullmatch(signature)
    ):
        raise _invalid(
            "Bucket POST must contain x-amz-algorithm, x-amz-date and x-amz-signature, and be well-formed"
        )
    access_key, day, region = sigv4.read_credential(fields.get("x-amz-credential", ""))
    if not date.startswith(day):
        raise _invalid("The date of the credential is not that of the request.")
    token = fields.get("x-amz-security-token", "")
    return Claimed(access_key, day, region, (), signature, date, UNSIGNED, sigv4.LONGEST_S, token)


def as_upload(asking: Asking, fields: Mapping[str, str], now: float) -> Asking:
    """Give the upload that a form asks for, once its policy, whose signature holds, allows it. Raises: S3Error."""
    policy = read_policy(fields["policy"])
    if now > policy.expires:
        raise S3Error("AccessDenied", "Invalid according to Policy: Policy expired.", 403)
    refuse_unfit(policy, {**fields, "bucket": asking.bucket})
    key = fields.get("key", "")
    if not key:
        raise _invalid("Bucket POST must contain a field named 'key'.")
    kept = {
        name: value for name, value in asking.headers.items() if name not in ("content-length", *_AS_HEADERS)
    }
    said = {
        name: value for name, value in fields.items() if name in _AS_HEADERS or name.startswith("x-amz-meta-")
    }
    return replace(asking, key=key, headers={**kept, **said}, payload=UNSIGNED)


def read_policy(text: str) -> Policy:
    """Read a policy. Raises: S3Error (InvalidPolicyDocument)."""
    if len(text) > _LONGEST_POLICY:
        raise _bad_policy("it is too long")
    try:
        told = msgspec.json.decode(base64.b64decode(text, validate=True), type=_Document)
        moment = datetime.fromisoformat(told.expiration)
    except (binascii.Error, ValueError, RecursionError, msgspec.DecodeError):
        raise _bad_policy("Invalid JSON, or no expiration and conditions.") from None
    conditions: list[Condition] = []
    least, most = 0, None
    for each in told.conditions:
        match each:
            case dict():
                conditions += [("eq", name.lower(), _text(value)) for name, value in each.items()]
            case [str(how), int(low), int(high)] if how.lower() == "content-length-range":
                least, most = max(least, low), high if most is None else min(most, high)
            case [str(how), str(name), str(value)] if (
                how.lower() in ("eq", "starts-with") and name[:1] == "$"
            ):
                conditions.append((how.lower(), name[1:].lower(), value))
            case _:
                raise _bad_policy("a condition is not of a kind that is known.")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Policy(moment.timestamp(), tuple(conditions), least, most)


def refuse_unfit(policy: Policy, fields: Mapping[str, str]) -> None:
    """Raises: S3Error (AccessDenied) if a condition does not hold, or a field has none."""
    for how, name, value in policy.conditions:
        given = fields.get(name, "")
        fits = given == value if how == "eq" else given.startswith(value)
        if not fits:
            told = f'["{how}", "${name}", "{value}"]'
            raise S3Error(
                "AccessDenied", f"Invalid according to Policy: Policy Condition failed: {told}", 403
            )
    named = {name for _, name, _ in policy.conditions} | _UNNAMED | {"bucket"}
    extra = [name for name in fields if name not in named and not name.startswith("x-ignore-")]
    if extra:
        message = f"Invalid according to Policy: Extra input fields: {', '.join(sorted(extra))}"
        raise S3Error("AccessDenied", message, 403)


async def post(store: Store, asking: Asking) -> Response:
    """PostObject, in two steps around the bytes. Raises: S3Error, StorageError."""
    fields = fields_of(asking) or {}
    policy = read_policy(fields["policy"])
    stored, upload = asking.asked.request.stored, upload_of(asking)
    _redirect(fields)
    if stored is None:
        granted = await grant(store, asking.asked, upload)
        assert granted.wanted is not None  # a grant has one
        most = granted.wanted.most if policy.most is None else max(0, min(policy.most, granted.wanted.most))
        return msgspec.structs.replace(granted, wanted=msgspec.structs.replace(granted.wanted, most=most))
    received(stored)
    if stored.size < policy.least:
        raise S3Error("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
    await commit(store, asking.asked, upload, stored)
    return _done(asking, fields, f'"{stored.md5}"')


def _done(asking: Asking, fields: Mapping[str, str], etag: str) -> Response:
    """Answer as the form asks: elsewhere, with XML, or with nothing."""
    location = f"/storage/v1/s3/{quote(asking.bucket)}/{quote(asking.key)}"
    told = [("etag", etag), ("location", location)]
    if target := _redirect(fields):
        pairs = (("bucket", asking.bucket), ("key", asking.key), ("etag", etag))
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs)
        joint = "&" if urlsplit(target).query else "?"
        return Response(303, [("etag", etag), ("location", f"{target}{joint}{query}")])
    match fields.get("success_action_status"):
        case "200":
            return Response(200, told)
        case "201":
            items: list[xml.Item] = [
                ("Location", location), ("Bucket", asking.bucket), ("Key", asking.key), ("ETag", etag)
            ]  # fmt: skip
            made = xml.answer("PostResponse", items, 201)
            return msgspec.structs.replace(made, headers=[*made.headers, *told])
    return Response(204, told)


def _redirect(fields: Mapping[str, str]) -> str:
    """Give where the browser shall go; empty for nowhere. Raises: S3Error for what is no address."""
    target = fields.get("success_action_redirect") or fields.get("redirect") or ""
    if not target:
        return ""
    try:
        parts = urlsplit(target)
    except ValueError:
        parts = urlsplit("")
    if (
        parts.scheme not in ("http", "https")
        or not parts.netloc
        or not target.isascii()
        or not target.isprintable()
    ):
        raise _invalid("success_action_redirect must be a URL of http or https")
    return target.partition("#")[0]


class _Document(msgspec.Struct):
    expiration: str
    conditions: list[dict[str, object] | list[object]]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _bad_policy("a condition's value must be a string.")
    return value


def _bad_policy(why: str) -> S3Error:
    return S3Error("InvalidPolicyDocument", f"Invalid Policy: {why}")


def _invalid(message: str) -> S3Error:
    return S3Error("InvalidArgument", message)
