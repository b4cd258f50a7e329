"""Objects: put, delete one or many. Bytes go by the claim check as in all of storage.

Source: reference page "storage", sections 6.9 and 10.
"""

import msgspec

from schemas.http import Response
from workers.database.errors import DatabaseError
from workers.database.interactive import statement
from workers.storage.callers import SERVICE
from workers.storage.context import Store, switch
from workers.storage.errors import Code, StorageError, access_denied
from workers.storage.objects import SQL
from workers.storage.rules import existing_key
from workers.storage.s3 import xml
from workers.storage.s3.asking import Asking
from workers.storage.s3.errors import malformed_xml, precondition_failed
from workers.storage.s3.headers import about_of, length_of, refuse_other_digest
from workers.storage.s3.receiving import received, wanting
from workers.storage.uploads import Upload, commit, grant

_MOST_DELETED = 1000
_TAKEN = "23505"
"""SQLSTATE of a name that is taken."""


async def put(store: Store, asking: Asking) -> Response:
    """PutObject, in two steps around the bytes. `If-None-Match: *` writes only what is not there yet."""
    try:
        return await _put(store, asking)
    except StorageError as error:
        if error.code is not Code.KEY_ALREADY_EXISTS:
            raise
    except DatabaseError as error:
        if error.code != _TAKEN:
            raise
    raise precondition_failed()


async def _put(store: Store, asking: Asking) -> Response:
    stored = asking.asked.request.stored
    upload = upload_of(asking)
    if stored is None:
        return wanting(asking, await grant(store, asking.asked, upload))
    received(stored)
    refuse_other_digest(asking, stored)
    await commit(store, asking.asked, upload, stored)
    return Response(200, [("etag", f'"{stored.md5}"')])


def upload_of(asking: Asking) -> Upload:
    """Read what shall be written, and as whom. Raises: S3Error, StorageError."""
    who = asking.asked.caller
    is_upsert = asking.headers.get("if-none-match", "").strip() != "*"
    return Upload(
        asking.bucket,
        asking.key,
        who,
        who.subject,
        is_upsert,
        about_of(asking),
        length_of(asking),
        is_standard=False,
    )


async def delete(store: Store, asking: Asking) -> Response:
    """DeleteObject: what is not there is deleted; what the caller may not delete is refused."""
    values = (asking.bucket, existing_key(asking.key))
    gone, _, left = await store.run(
        asking.asked.as_caller(),
        statement(SQL["delete"], *values),
        switch(SERVICE),
        statement(SQL["is_there"], *values),
    )
    if left and not gone:
        raise access_denied()
    return Response(204)


async def delete_many(store: Store, asking: Asking) -> Response:
    """DeleteObjects: up to 1000 keys; each is told of, but in quiet only what was refused."""
    node = xml.read(asking.asked.body, "Delete")
    keys = [each.value("Key") or "" for each in node.all("Object")]
    if not 1 <= len(keys) <= _MOST_DELETED:
        raise malformed_xml()
    bad: dict[str, StorageError] = {}
    names: dict[str, str] = {}
    for key in keys:
        try:
            names[key] = existing_key(key)
        except StorageError as error:
            bad[key] = error
    listed = msgspec.json.encode(list(names.values()))
    _, _, found = await store.run(
        asking.asked.as_caller(),
        statement(SQL["delete_many"], asking.bucket, listed),
        switch(SERVICE),
        statement(SQL["visible_names"], asking.bucket, listed),
    )
    left = set(msgspec.json.decode(found[0][0] or b"[]", type=list[str]))
    bad |= {key: access_denied() for key, name in names.items() if name in left}
    is_quiet = (node.value("Quiet") or "").strip().lower() == "true"
    told: list[xml.Item] = []
    if not is_quiet:
        told += [("Deleted", [("Key", key)]) for key in names if key not in bad]
    told += [
        ("Error", [("Key", key), ("Code", error.code.value), ("Message", error.message)])
        for key, error in bad.items()
    ]
    return xml.answer("DeleteResult", told)
