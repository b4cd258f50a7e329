"""Deleting: one object, some by name, a folder. Rows go as the caller; their bytes follow (`sweep.py`).

Source: reference page "storage", section 6.8.
"""

import msgspec

from schemas.http import Response
from workers.database.interactive import statement
from workers.storage.asked import Asked, answer, answer_raw, done
from workers.storage.callers import SERVICE
from workers.storage.context import Store, switch
from workers.storage.errors import access_denied, invalid_request, no_such_key
from workers.storage.objects import SQL
from workers.storage.reading import Reader
from workers.storage.rules import existing_key, parse_prefix, possible_key

_BATCH = 1000
_MOST_BATCHES = 200


async def one(store: Store, asked: Asked) -> Response:
    """`DELETE object/{bucket}/{path}`."""
    values = (asked.bucket, existing_key(asked.key))
    gone, _, left = await store.run(
        asked.as_caller(),
        statement(SQL["delete"], *values),
        switch(SERVICE),
        statement(SQL["is_there"], *values),
    )
    if gone:
        return done("Successfully deleted")
    raise access_denied() if left else no_such_key()


async def many(store: Store, asked: Asked) -> Response:
    """`DELETE object/{bucket}`: the names of `prefixes`; or all below the folder `prefix` (docs/storage-additions.md)."""
    read = asked.read()
    if read.has("prefix") and not read.has("prefixes"):
        return await _folder(store, asked, read)
    names = read.texts("prefixes", least=1, needed=True)
    read.check()
    listed = msgspec.json.encode([key for key in map(possible_key, names) if key is not None])
    rows = await store.run(asked.as_caller(), statement(SQL["delete_many"], asked.bucket, listed))
    return answer_raw(rows[0][0][0])


async def _folder(store: Store, asked: Asked, read: Reader) -> Response:
    """Delete what is below a folder, in batches. More than one request may delete is told, and is deleted by asking again."""
    prefix = read.text("prefix")
    if not read.flag("recursive"):
        read.faults.append("body/recursive must be true for body/prefix")
    read.check()
    folder = parse_prefix(prefix.rstrip("/"))
    if not folder:
        raise invalid_request("body/prefix must NOT be empty")
    deleted = 0
    for _ in range(_MOST_BATCHES):
        batch = statement(SQL["delete_below"], asked.bucket, f"{folder}/", _BATCH)
        count = len((await store.run(asked.as_caller(), batch))[0])
        deleted += count
        if count < _BATCH:
            return answer({"message": "Successfully deleted", "count": deleted, "hasMore": False})
    return answer({"message": "Successfully deleted", "count": deleted, "hasMore": True})
