"""Uploads of one go: `POST` makes an object, or replaces one if `x-upsert` says so; `PUT` does either.

The body never comes here: the first request is answered with where its bytes go, the second says what became of them.
Source: reference page "storage", section 6.1.
"""

import base64
import binascii
from collections.abc import Mapping

import msgspec

from schemas.blobs import Form
from schemas.http import Response
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from workers.storage.asked import Asked, answer
from workers.storage.callers import SERVICE
from workers.storage.context import Store
from workers.storage.errors import no_content, too_large
from workers.storage.robots import refuse_bad_robots
from workers.storage.rules import cache_control_of, refuse_unsendable
from workers.storage.signing import Scope, split_url
from workers.storage.uploads import About, Upload, commit, grant

_MOST_METADATA = 1024 * 1024
_TOO_MUCH_METADATA = "The user_metadata exceeded the maximum allowed size"
_USUAL_TYPE = "application/octet-stream"
_FORM = "multipart/form-data"
_form = msgspec.msgpack.Decoder(Form)
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


async def create(store: Store, asked: Asked) -> Response:
    """`POST object/{bucket}/{path}`."""
    return await _upload(store, asked, _of_caller(asked, is_upsert=asked.is_true("x-upsert")))


async def replace(store: Store, asked: Asked) -> Response:
    """`PUT object/{bucket}/{path}`."""
    return await _upload(store, asked, _of_caller(asked, is_upsert=True))


async def signed(store: Store, asked: Asked) -> Response:
    """`PUT object/upload/sign/{bucket}/{path}?token=`: whoever has the token writes, on behalf of its owner."""
    read = asked.read_query()
    token = read.text("token", needed=True)
    read.check()
    claims = store.signer.read(token, Scope.UPLOAD, f"{asked.bucket}/{asked.key}")
    bucket, key = split_url(claims.url)
    upload = Upload(
        bucket,
        key,
        SERVICE,
        claims.owner,
        bool(claims.upsert),
        about_of(asked),
        declared_length(asked),
        is_form(asked),
    )
    if asked.request.stored is None:
        return await grant(store, asked, upload)
    row = await commit(store, asked, upload, asked.request.stored)
    return answer({"Key": row["Key"]})


async def _upload(store: Store, asked: Asked, upload: Upload) -> Response:
    if asked.request.stored is None:
        return await grant(store, asked, upload)
    row = await commit(store, asked, upload, asked.request.stored)
    return answer({"Key": row["Key"], "Id": row["Id"]})


def _of_caller(asked: Asked, *, is_upsert: bool) -> Upload:
    return Upload(
        asked.bucket,
        asked.key,
        asked.caller,
        asked.caller.subject,
        is_upsert,
        about_of(asked),
        declared_length(asked),
        is_form(asked),
    )


def about_of(asked: Asked) -> About:
    """Read what an upload says of its object, from its form or its headers. Raises: StorageError."""
    robots = (asked.header("x-robots-tag") or "").strip()
    if robots:
        refuse_bad_robots(robots)
    about = _of_form(asked, robots) if is_form(asked) else _of_headers(asked, robots)
    refuse_unsendable(about.mime_type, about.cache_control)
    return about


def is_form(asked: Asked) -> bool:
    """Tell whether the bytes come in a form."""
    return (asked.header("content-type") or "").partition(";")[0].strip().lower() == _FORM


def declared_length(asked: Asked) -> int | None:
    """Give the length that a request declares; None for one that comes in chunks."""
    return parse_whole_number(asked.header("content-length") or "", most=LARGEST_SIZE)


def header_metadata(asked: Asked) -> bytes | None:
    """Read `x-metadata`, base64 of a JSON object; what is none is passed over. Raises: StorageError (413)."""
    text = "".join((asked.header("x-metadata") or "").split())
    try:
        given = base64.b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return None
    return user_metadata(given)


def user_metadata(given: bytes) -> bytes | None:
    """Give the metadata of a client's own if it is a JSON object, else None. Raises: StorageError (413)."""
    if len(given) > _MOST_METADATA:
        raise too_large(_TOO_MUCH_METADATA)
    try:
        _object.decode(given)
        given.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return given


def _of_headers(asked: Asked, robots: str) -> About:
    return About(
        (asked.header("content-type") or "").strip() or _USUAL_TYPE,
        cache_control_of(asked.header("cache-control")),
        robots,
        header_metadata(asked),
    )


def _of_form(asked: Asked, robots: str) -> About:
    """Read the head of a form, and what stood behind the file once that is known."""
    try:
        form = _form.decode(asked.body)
    except msgspec.DecodeError:
        raise no_content() from None
    stored = asked.request.stored
    fields: Mapping[str, str] = form.fields | (stored.fields if stored else {})
    given = fields.get("metadata") or fields.get("userMetadata") or ""
    return About(
        (fields.get("contentType") or form.content_type).strip() or _USUAL_TYPE,
        cache_control_of(fields.get("cacheControl")),
        robots,
        user_metadata(given.encode(errors="replace")),
    )
