"""New objects of one caller whose uploads are written in the same iteration of the event loop: one statement, one commit.

    uploads of one caller to one bucket --> one insert of all rows --> rows that it did not write: each in a transaction of its own

The bytes of small uploads that wait together become durable together (broker/blobs/short_log.py), so their rows come together as well.
A transaction of eight rows costs Postgres a third of eight transactions. What must be the same for all, or is not grouped:

- role, claims, operation and bucket. Policies do not apply: only the service role, and the statement writes nothing if they do.
- What reads the settings of a request, which the group does not have: triggers of a project on inserts. With one the statement writes
  nothing either. The platform's own trigger reads the id of the request, which `storage.request_ids` has for each version.

Locks: a writer of one name holds its advisory lock and may wait for others. The group waits for none: it takes what is free, and leaves out
the names that others hold. So it is part of no deadlock between writers of names. Only new names are grouped: an upsert would wait for rows.

An error of one row (a quota, a limit of the table, a row of its name that plain SQL has locked) undoes the group's transaction. Then each
upload is written alone, and gets its own error. After an error for which it is unknown what was committed nothing is written again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import msgspec

from broker.requests.current_request import CURRENT
from schemas.http import header
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import TransactionSpec
from workers.storage.model.database_errors import storage_error_of
from workers.storage.model.names_and_sizes import UploadRules
from workers.storage.objects.rows import SQL
from workers.storage.requests.context import StorageContext
from workers.storage.requests.identity import SessionSettings, settings_for_several
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.uploads.model import Metadata, Upload
from workers.storage.uploads.rows import decode_written

_LONGEST_USER_METADATA = 4096
"""Bytes of an upload's own metadata: so the text of a group stays short."""
_PAUSE_S = 60.0
"""For how long no groups are formed after one of which no row was written: most likely the next one would not be either."""

_STATEMENT_TIMEOUT = "57014"
"""SQLSTATE."""

WrittenRow = dict[str, object]
"""At least the columns of a response: `Id` and `Key`."""


@dataclass(frozen=True, slots=True)
class NewObject:
    """An upload whose bytes are stored, and the columns of its row. `rules` are those of the bucket when they were read last."""

    request: StorageRequest
    upload: Upload
    key: str
    version: str
    metadata: Metadata
    rules: UploadRules


InsertAlone = Callable[[NewObject], Awaitable[WrittenRow | None]]
"""Writes one row in a transaction of its own, as `insert_together`."""


def is_groupable(context: StorageContext, upload: Upload) -> bool:
    """Return whether an upload may be written in a group now."""
    return (
        upload.identity.is_service
        and not upload.is_upsert
        and upload.condition is None
        and len(upload.attributes.user_metadata or b"") <= _LONGEST_USER_METADATA
        and not context.groups_paused.get(upload.bucket, 0.0) > context.clock()
    )


async def insert_together(
    context: StorageContext, new: NewObject, insert_alone: InsertAlone
) -> WrittenRow | None:
    """Write a row with those of other uploads; None if the name exists or the bucket has other rules. Raises: as `insert_alone`."""
    served = CURRENT.get()
    caller_key = "" if served is None else served.caller_key
    key = (new.upload.identity, new.upload.bucket, new.request.operation, caller_key)

    async def write(group: Sequence[NewObject]) -> Sequence[WrittenRow | BaseException | None]:
        return await _write(context, group, insert_alone)

    row: WrittenRow | None = await context.groups.do(key, new, context.tasks.start, write)
    return row


async def _write(
    context: StorageContext, group: Sequence[NewObject], insert_alone: InsertAlone
) -> Sequence[WrittenRow | BaseException | None]:
    """Write the rows of a group; return the row, None, or the error of each."""
    if len(group) == 1:
        return [await insert_alone(group[0])]
    rows = await _insert(context, group)
    left = [new for new in group if new.version not in rows]
    alone = await asyncio.gather(*(insert_alone(new) for new in left), return_exceptions=True)
    results: dict[str, WrittenRow | BaseException | None] = {**rows}
    results.update(zip((new.version for new in left), alone, strict=True))
    return [results[new.version] for new in group]


async def _insert(context: StorageContext, group: Sequence[NewObject]) -> dict[str, WrittenRow]:
    """Insert rows by one statement; return those that were written, by version. Raises: as `insert_together`."""
    bucket, by_name = group[0].upload.bucket, {new.key: new for new in group}  # of one name only one
    rows = [
        {
            "name": new.key,
            "owner": new.upload.owner[0],
            "owner_id": new.upload.owner[1],
            "version": new.version,
            "metadata": new.metadata,
            "user_metadata": msgspec.Raw(new.upload.attributes.user_metadata or b"null"),
            "rules": new.rules,
        }
        for new in by_name.values()
    ]
    insert = statement(SQL["insert_several"], bucket, msgspec.json.encode(rows))
    spec = TransactionSpec(_settings(group), (insert,), isolation="read committed", writes=True)
    try:
        *_, written = await context.database.run(spec)
    except DatabaseError as error:
        is_undone = error.statement_index is not None or storage_error_of(error).inner < 500
        if not is_undone or error.code == _STATEMENT_TIMEOUT:  # a second attempt would take as long again
            raise
        return {}
    if not written:
        context.groups_paused.put(bucket, context.clock() + _PAUSE_S)
    decoded = (decode_written([row]) for row in written)
    return {by_name[str(row["name"])].version: row for row in decoded}


def _settings(group: Sequence[NewObject]) -> SessionSettings:
    """Return the settings of a transaction that serves several requests."""
    ids = {
        new.version: header(new.request.http.headers, "x-request-id") or new.request.http.id for new in group
    }
    identity, operation = group[0].upload.identity, group[0].request.operation
    return settings_for_several(identity, operation, msgspec.json.encode(ids).decode())
