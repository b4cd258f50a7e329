"""PutObject, DeleteObject, DeleteObjects. Bytes travel by claim check as in all of storage.

Source: docs/reference/storage.md, sections 6.9 and 10.
"""

import msgspec

from schemas.http import Response
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import statement
from workers.storage.model.errors import StorageError, StorageErrorCode, access_denied
from workers.storage.model.names_and_sizes import existing_key
from workers.storage.objects.rows import SQL
from workers.storage.requests.context import StorageContext, switch_role
from workers.storage.requests.identity import SERVICE
from workers.storage.s3.body_checks import check_stored, grant_body
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import malformed_xml, precondition_failed
from workers.storage.s3.protocol.headers import attributes_of, check_content_md5, length_of
from workers.storage.s3.protocol.request import S3Request
from workers.storage.uploads.commit import commit, grant
from workers.storage.uploads.model import Upload

_MOST_DELETED = 1000
_TAKEN = "23505"
"""SQLSTATE of a duplicate key."""


async def put(context: StorageContext, request: S3Request) -> Response:
    """PutObject, called before and after the bytes are stored. `If-None-Match: *` rejects an existing key."""
    try:
        return await _put(context, request)
    except StorageError as error:
        if error.code is not StorageErrorCode.KEY_ALREADY_EXISTS:
            raise
    except DatabaseError as error:
        if error.code != _TAKEN:
            raise
    raise precondition_failed()


async def _put(context: StorageContext, request: S3Request) -> Response:
    stored = request.storage_request.http.stored
    upload = upload_of(request)
    if stored is None:
        return grant_body(request, await grant(context, request.storage_request, upload))
    check_stored(stored)
    check_content_md5(request, stored)
    await commit(context, request.storage_request, upload, stored)
    return Response(200, [("etag", f'"{stored.md5}"')])


def upload_of(request: S3Request) -> Upload:
    """Return the upload that a request describes. Raises: S3Error, StorageError."""
    who = request.storage_request.caller
    is_upsert = request.headers.get("if-none-match", "").strip() != "*"
    return Upload(
        request.bucket,
        request.key,
        who,
        who.subject,
        is_upsert,
        attributes_of(request),
        length_of(request),
        is_standard=False,
    )


async def delete(context: StorageContext, request: S3Request) -> Response:
    """DeleteObject: succeeds for a missing object, fails if the caller's policies forbid it."""
    values = (request.bucket, existing_key(request.key))
    gone, _, left = await context.run(
        request.storage_request.as_caller(),
        statement(SQL["delete"], *values),
        switch_role(SERVICE),
        statement(SQL["is_there"], *values),
    )
    if left and not gone:
        raise access_denied()
    return Response(204)


async def delete_many(context: StorageContext, request: S3Request) -> Response:
    """DeleteObjects: up to 1000 keys, one result for each; with `Quiet` only the errors."""
    node = xml.read(request.storage_request.body, "Delete")
    keys = [node_of_key.value("Key") or "" for node_of_key in node.all("Object")]
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
    _, _, deleted_rows = await context.run(
        request.storage_request.as_caller(),
        statement(SQL["delete_many"], request.bucket, listed),
        switch_role(SERVICE),
        statement(SQL["visible_names"], request.bucket, listed),
    )
    left = set(msgspec.json.decode(deleted_rows[0][0] or b"[]", type=list[str]))
    bad |= {key: access_denied() for key, name in names.items() if name in left}
    is_quiet = (node.value("Quiet") or "").strip().lower() == "true"
    items: list[xml.Item] = []
    if not is_quiet:
        items += [("Deleted", [("Key", key)]) for key in names if key not in bad]
    items += [
        ("Error", [("Key", key), ("Code", error.code.value), ("Message", error.message)])
        for key, error in bad.items()
    ]
    return xml.xml_response("DeleteResult", items)
