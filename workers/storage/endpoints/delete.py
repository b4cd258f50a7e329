"""Delete endpoints: one object, several by name, a folder.

Rows are deleted with the caller's rights; their blobs are removed later (`sweeps/sweep.py`).
Source: docs/reference/storage.md, section 6.8.
"""

import msgspec

from schemas.http import Response
from workers.database.transactions.interactive import statement
from workers.storage.model.errors import invalid_request
from workers.storage.model.names_and_sizes import existing_key, parse_prefix, possible_key
from workers.storage.objects.rows import SQL
from workers.storage.requests.body_reader import BodyReader
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import (
    StorageRequest,
    json_response,
    message_response,
    raw_json_response,
)
from workers.storage.uploads.deletion import delete_object
from workers.storage.uploads.write_conditions import check_untagged_resource, read_write_condition

_BATCH = 1000
_MOST_BATCHES = 200


async def one(context: StorageContext, request: StorageRequest) -> Response:
    """`DELETE object/{bucket}/{path}`, under `If-Match` and its siblings."""
    condition = read_write_condition(request.http.headers)
    await delete_object(context, request, request.bucket, existing_key(request.key), condition)
    return message_response("Successfully deleted")


async def many(context: StorageContext, request: StorageRequest) -> Response:
    """`DELETE object/{bucket}`: the names in `prefixes`, or every object below the folder `prefix`
    (docs/storage-additions.md).
    """
    check_untagged_resource(request.http.headers)
    read = request.read()
    if read.has("prefix") and not read.has("prefixes"):
        return await _folder(context, request, read)
    names = read.texts("prefixes", least=1, needed=True)
    read.check()
    listed = msgspec.json.encode([key for key in map(possible_key, names) if key is not None])
    rows = await context.run(request.as_caller(), statement(SQL["delete_many"], request.bucket, listed))
    return raw_json_response(rows[0][0][0])


async def _folder(context: StorageContext, request: StorageRequest, read: BodyReader) -> Response:
    """Delete every object below a folder, in batches. At the limit of one request the response says so; the client
    repeats it.
    """
    prefix = read.text("prefix")
    if not read.flag("recursive"):
        read.faults.append("body/recursive must be true for body/prefix")
    read.check()
    folder = parse_prefix(prefix.rstrip("/"))
    if not folder:
        raise invalid_request("body/prefix must NOT be empty")
    deleted = 0
    for _ in range(_MOST_BATCHES):
        batch = statement(SQL["delete_below"], request.bucket, f"{folder}/", _BATCH)
        count = len((await context.run(request.as_caller(), batch))[0])
        deleted += count
        if count < _BATCH:
            return json_response({"message": "Successfully deleted", "count": deleted, "hasMore": False})
    return json_response({"message": "Successfully deleted", "count": deleted, "hasMore": True})
