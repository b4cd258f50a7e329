"""Presigned POST: a browser uploads a file with a form whose policy document a server has signed.

    fields --> PostPolicy (signature, expiry, conditions) --> each field checked against it --> an ordinary upload

The policy document: `post_policy.py`.
Source: docs/reference/storage.md, section 10; "Creating a POST policy" of the Amazon S3 API reference.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote, urlsplit

import msgspec

from schemas.http import Response
from workers.storage.requests.context import StorageContext
from workers.storage.s3.body_checks import check_stored
from workers.storage.s3.checksums import verified_checksums
from workers.storage.s3.objects import upload_of
from workers.storage.s3.post_policy import check_policy, read_policy
from workers.storage.s3.protocol import sigv4, xml
from workers.storage.s3.protocol.errors import S3Error, missing_signature
from workers.storage.s3.protocol.request import S3Request
from workers.storage.s3.protocol.sigv4 import ALGORITHM, UNSIGNED, SignatureClaim
from workers.storage.uploads.commit import commit, grant

FIELDS = ":form"
"""Header in which the gateway passes the form fields (`services/gateway/objects/s3/form.py`); it drops one that a client sends."""
_AS_HEADERS = (
    "content-type", "cache-control", "content-disposition", "content-encoding", "content-language", "expires", "x-robots-tag"
)  # fmt: skip
_OF_THE_SIGNATURE = (
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-signature",
    "x-amz-security-token",
)
_NAMED_OTHERWISE = {"acl": "x-amz-acl", "tagging": "x-amz-tagging"}
"""Fields whose header has another name."""
_DATE = re.compile(r"\d{8}T\d{6}Z", re.ASCII)
_HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)


def fields_of(request: S3Request) -> dict[str, str] | None:
    """Return the fields of a form, names in lower case; None if the request is not a form."""
    encoded = request.headers.get(FIELDS)
    return None if encoded is None else msgspec.json.decode(encoded, type=dict[str, str])


def claim_of(fields: Mapping[str, str]) -> SignatureClaim:
    """Read the signature of a form's policy. Raises: S3Error."""
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
    return SignatureClaim(access_key, day, region, (), signature, date, UNSIGNED, sigv4.LONGEST_S, token)


def as_upload(request: S3Request, fields: Mapping[str, str], now: float) -> S3Request:
    """Return the request as an upload, after its verified policy was checked. Raises: S3Error."""
    policy = read_policy(fields["policy"])
    if now > policy.expires:
        raise S3Error("AccessDenied", "Invalid according to Policy: Policy expired.", 403)
    check_policy(policy, {**fields, "bucket": request.bucket})
    key = fields.get("key", "")
    if not key:
        raise _invalid("Bucket POST must contain a field named 'key'.")
    headers = {
        name: value for name, value in request.headers.items() if name not in ("content-length", *_AS_HEADERS)
    }
    form_headers = {
        name: value
        for name, value in fields.items()
        if name in _AS_HEADERS or (name.startswith("x-amz-") and name not in _OF_THE_SIGNATURE)
    }
    for field, name in _NAMED_OTHERWISE.items():
        if fields.get(field):
            form_headers[name] = fields[field]
    return replace(request, key=key, headers={**headers, **form_headers}, payload=UNSIGNED)


async def post(context: StorageContext, request: S3Request) -> Response:
    """PostObject, called before and after the bytes are stored. Raises: S3Error, StorageError."""
    fields = fields_of(request) or {}
    policy = read_policy(fields["policy"])
    stored, upload = request.storage_request.http.stored, upload_of(request)
    _redirect(fields)
    if stored is None:
        granted = await grant(context, request.storage_request, upload)
        assert granted.grant is not None  # every grant has one
        most = granted.grant.most if policy.most is None else max(0, min(policy.most, granted.grant.most))
        return msgspec.structs.replace(granted, grant=msgspec.structs.replace(granted.grant, most=most))
    if stored.is_too_long and policy.most is not None:
        raise S3Error("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size")
    check_stored(stored)
    if stored.size < policy.least:
        raise S3Error("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
    attributes = replace(upload.attributes, checksums=verified_checksums(stored))
    await commit(context, request.storage_request, replace(upload, attributes=attributes), stored)
    return _done(request, fields, f'"{stored.md5}"')


def _done(request: S3Request, fields: Mapping[str, str], etag: str) -> Response:
    """Answer as the form requests: with a redirect, with XML, or with an empty body."""
    location = request.location
    headers = [("etag", etag), ("location", location)]
    if target := _redirect(fields):
        pairs = (("bucket", request.bucket), ("key", request.key), ("etag", etag))
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs)
        joint = "&" if urlsplit(target).query else "?"
        return Response(303, [("etag", etag), ("location", f"{target}{joint}{query}")])
    match fields.get("success_action_status"):
        case "200":
            return Response(200, headers)
        case "201":
            items: list[xml.Item] = [
                ("Location", location), ("Bucket", request.bucket), ("Key", request.key), ("ETag", etag)
            ]  # fmt: skip
            response = xml.xml_response("PostResponse", items, 201)
            return msgspec.structs.replace(response, headers=[*response.headers, *headers])
    return Response(204, headers)


def _redirect(fields: Mapping[str, str]) -> str:
    """Return the URL of `success_action_redirect`, empty without one. Raises: S3Error if it is not a URL."""
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


def _invalid(message: str) -> S3Error:
    return S3Error("InvalidArgument", message)
