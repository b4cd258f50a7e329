"""Buckets: list, look at, make, change, delete, empty, measure. Source: reference page "storage", section 5."""

import re

import msgspec
import orjson

from schemas.http import Response
from schemas.numbers import clamp_whole_number
from workers.storage import buckets
from workers.storage.asked import Asked, answer, answer_raw, done
from workers.storage.buckets import BucketChange, NewBucket
from workers.storage.context import Store
from workers.storage.errors import invalid_request
from workers.storage.media_types import parse_allowed
from workers.storage.reading import Reader
from workers.storage.rules import (
    parse_size_limit,
    refuse_bad_bucket,
    refuse_other_bucket_types,
    refuse_versioning,
)

_COLUMNS = ("id", "name", "created_at", "updated_at")
_KINDS = ("STANDARD", "ANALYTICS", "VECTOR")
_VERSIONING = ("DISABLED", "ENABLED", "SUSPENDED")
_CHANGES = ("public", "file_size_limit", "allowed_mime_types")
_MOST_QUOTA = 2**63 - 1
_MOST_LISTED = 100_000_000
_MOST_VERSION = 10**6
_OLD_PYTHON = re.compile(r"(supabase-py(?:thon)?/|storage3/)v?([0-9]+)\.([0-9]+)\.([0-9]+)")
_KNOWS_TYPE = {"supabase-py/": (2, 18, 0), "supabase-python/": (2, 18, 0), "storage3/": (0, 12, 1)}


async def listing(store: Store, asked: Asked) -> Response:
    """`GET bucket`."""
    read = asked.read_query()
    most = read.integer("limit", 0, least=1, most=_MOST_LISTED)
    skipped = read.integer("offset", 0, least=0, most=_MOST_LISTED)
    column = read.choice("sortColumn", _COLUMNS, "name")
    order = read.choice("sortOrder", ("asc", "desc"), "asc")
    search = read.text("search")
    read.check()
    found = await buckets.listed(
        store,
        asked,
        most=most,
        skipped=skipped,
        column=column,
        is_descending=order == "desc",
        search=search,
    )
    return answer_raw(found if _knows_type(asked) else _without_type(found))


async def show(store: Store, asked: Asked) -> Response:
    """`GET bucket/{id}`."""
    return answer_raw(await buckets.shown(store, asked, asked.bucket))


async def create(store: Store, asked: Asked) -> Response:
    """`POST bucket`."""
    read = asked.read()
    name, id = read.text("name", needed=True), read.text("id")
    public, kind = read.flag("public"), read.choice("type", _KINDS, "STANDARD")
    types, versioning = _mime_types(read), _versioning(read)
    read.check()
    quota = _quota(asked, read)
    refuse_other_bucket_types(kind)
    refuse_versioning(versioning)
    refuse_bad_bucket(name)
    refuse_bad_bucket(id or name)
    size = parse_size_limit(read.raw("file_size_limit"), store.settings.largest)
    new = NewBucket(id or name, name, public, size, parse_allowed(types), quota)
    await buckets.create(store, asked, new)
    return answer({"name": name})


async def update(store: Store, asked: Asked) -> Response:
    """`PUT bucket/{id}`."""
    read = asked.read()
    public, types, versioning = read.flag("public"), _mime_types(read), _versioning(read)
    read.check()
    refuse_versioning(versioning)
    quota = _quota(asked, read)
    if not any(read.has(name) for name in (*_CHANGES, "quota")):
        missing = [f"body must have required property '{name}'" for name in _CHANGES]
        raise invalid_request(", ".join([*missing, "body must match a schema in anyOf"]))
    size = parse_size_limit(read.raw("file_size_limit"), store.settings.largest)
    wanted = BucketChange(
        public if read.raw("public") is not None else msgspec.UNSET,
        size if read.has("file_size_limit") else msgspec.UNSET,
        parse_allowed(types) if read.has("allowed_mime_types") else msgspec.UNSET,
        quota if read.has("quota") else msgspec.UNSET,
    )
    await buckets.change(store, asked, asked.bucket, wanted)
    return done("Successfully updated")


async def delete(store: Store, asked: Asked) -> Response:
    """`DELETE bucket/{id}`."""
    asked.read_nothing()
    await buckets.delete(store, asked, asked.bucket)
    return done("Successfully deleted")


async def empty(store: Store, asked: Asked) -> Response:
    """`POST bucket/{id}/empty`: for the service role alone."""
    asked.refuse_unless_service()
    asked.read_nothing()
    await buckets.empty(store, asked, asked.bucket)
    return done("Empty bucket has been queued. Completion may take up to an hour.")


async def size(store: Store, asked: Asked) -> Response:
    """`GET bucket/{id}/size`: bytes and number of the objects that the caller sees; the quota (docs/storage-additions.md)."""
    return answer_raw(await buckets.size(store, asked, asked.bucket))


def _mime_types(read: Reader) -> list[str] | None:
    given = read.texts("allowed_mime_types")
    return None if read.raw("allowed_mime_types") is None else given


def _quota(asked: Asked, read: Reader) -> int | None:
    """Read the bytes that a bucket may hold, spelled as a limit is; for the service role alone. Raises: StorageError."""
    if read.has("quota"):
        asked.refuse_unless_service()
    return parse_size_limit(read.raw("quota"), _MOST_QUOTA, name="quota")


def _versioning(read: Reader) -> str:
    return read.choice("versioning_status", _VERSIONING, "DISABLED")


def _knows_type(asked: Asked) -> bool:
    """Tell whether a client takes buckets with `type`: older Python clients refuse members that they do not know."""
    for name in ("x-client-info", "user-agent"):
        found = _OLD_PYTHON.search((asked.header(name) or "").lower())
        if found:
            version = tuple(clamp_whole_number(part, most=_MOST_VERSION) or 0 for part in found.groups()[1:4])
            return version >= _KNOWS_TYPE[found[1]]
    return True


def _without_type(found: bytes) -> bytes:
    return orjson.dumps(
        [{name: value for name, value in each.items() if name != "type"} for each in orjson.loads(found)]
    )
