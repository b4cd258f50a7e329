"""Uploads in one request, in two steps around the bytes: grant, then commit.

    grant    read the bucket's rules, try the policies and roll back -> `UploadGrant`: where the bytes go, at most how many
    commit   the same checks with the final metadata, then the row as the service role, which switches the version

Each step is one round trip. For the service role nothing is tried, because the row is written with the same role; only an existing
name is looked for before the bytes are sent. No transaction is open while bytes arrive. The ticket that connects both steps holds the
granted version, the caller and the bucket's rules. The commit writes the row only if those rules are unchanged;
otherwise, or if no row was written, it runs again statement by statement to find the reason. A policy that changed in
between applies.

A trigger moves the replaced version to the tombstones, so a rollback never loses bytes.
Source: docs/reference/storage.md, sections 6.1, 6.2, 6.9 and 11.
"""

import os
from uuid import UUID

from schemas.blobs import BlobReference, StoredBody, UploadGrant
from schemas.http import Response
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import decode_first, statement
from workers.database.transactions.model import Statement, TransactionSpec
from workers.storage.buckets.rows import SQL as BUCKETS
from workers.storage.buckets.rows import BucketRules, decode_rules, read_rules, read_rules_with_room
from workers.storage.model.errors import (
    StorageError,
    StorageErrorCode,
    aborted,
    already_exists,
    invalid_signature,
    too_large,
)
from workers.storage.model.names_and_sizes import UploadRules, parse_key
from workers.storage.model.upload_tickets import UploadTicket
from workers.storage.objects.rows import SQL as OBJECTS
from workers.storage.objects.rows import ObjectRow
from workers.storage.requests.context import StorageContext, switch_role
from workers.storage.requests.identity import SERVICE, settings_for
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.uploads.grouped_inserts import NewObject, insert_together, is_groupable
from workers.storage.uploads.model import (
    Metadata,
    Upload,
    limit_by_quota,
    metadata_of,
    name_of,
    size_limit_of,
    too_long_error,
)
from workers.storage.uploads.rows import (
    decode_written,
    existing_name_as_412,
    lock_statement,
    policy_probe,
    put_statement,
    try_out,
    within_savepoint,
    write_row,
)

_ISOLATION = "read committed"
"""Set explicitly, so that savepoint and commit travel in the same round trip."""

WAITED = frozenset({"55P03", "57014"})
"""SQLSTATE of a lock or a statement that took too long: a second attempt would take as long again."""


async def grant(context: StorageContext, request: StorageRequest, upload: Upload) -> Response:
    """Return where the bytes go. Raises: StorageError; DatabaseError and its siblings."""
    with existing_name_as_412(upload):
        return await _grant(context, request, upload)


async def _grant(context: StorageContext, request: StorageRequest, upload: Upload) -> Response:
    name = name_of(context, upload)
    rules, refusal = await _try_policies(context, request, upload, name)
    most = size_limit_of(context, rules, upload)
    length = None if upload.is_form else upload.length
    if length is not None and length > most:
        raise too_large()
    if isinstance(name, StorageError):
        raise name
    if refusal is not None:
        raise refusal
    await check_early(context, request, upload, name)
    most = limit_by_quota(rules, most)
    if rules.has_quota:
        context.upload_rules.pop(upload.bucket)
    else:
        context.upload_rules.put(upload.bucket, rules.key)
    version = new_version(context.clock())
    ticket = UploadTicket(
        upload.bucket,
        name,
        version,
        upload.is_upsert,
        upload.identity.role,
        upload.owner_id or "",
        rules.key,
    )
    upload_grant = UploadGrant(BlobReference(upload.bucket, version), int(most), context.tickets.seal(ticket))
    return Response(200, grant=upload_grant)


async def check_early(context: StorageContext, request: StorageRequest, upload: Upload, name: str) -> None:
    """Check the condition before the bytes come; `commit` checks it again under the lock. Raises: StorageError (412)."""
    if upload.condition is None:
        return
    rows = await context.read(request.as_service(), statement(OBJECTS["visible"], upload.bucket, name))
    upload.condition.check(decode_first(rows[0], ObjectRow))


async def _try_policies(
    context: StorageContext, request: StorageRequest, upload: Upload, name: str | StorageError
) -> tuple[BucketRules, DatabaseError | StorageError | None]:
    """Read the bucket's rules and try the policies in one round trip; return the rules, and the policies' error."""
    if isinstance(name, StorageError):
        return await read_rules(context, request, upload.bucket), None
    if upload.identity.is_service:
        rules_rows, existing = await context.run(
            request.as_service(),
            statement(BUCKETS["rules_for"], upload.bucket, name),
            statement(OBJECTS["is_there"], upload.bucket, name),
        )
        rules = decode_rules(rules_rows)
        if not rules.has_quota:  # a quota is tried as policies are
            is_taken = bool(existing) and not upload.is_upsert
            return rules, already_exists(StorageErrorCode.KEY_ALREADY_EXISTS) if is_taken else None
    try:
        rules_rows, *_ = await context.probe(
            request.as_service(),
            statement(BUCKETS["rules_for"], upload.bucket, name),
            switch_role(upload.identity),
            policy_probe(upload, name),
        )
    except (
        DatabaseError
    ) as error:  # errors of the rules come first, and the failed transaction did not return them
        return await read_rules(context, request, upload.bucket), error
    return decode_rules(rules_rows), None


async def commit(
    context: StorageContext, request: StorageRequest, upload: Upload, stored: StoredBody
) -> dict[str, object]:
    """Write the row of an object whose bytes have arrived, and return its columns.

    It is shielded from cancellation. Raises: as `grant`, and then nothing was written.
    """
    ticket = context.tickets.open(stored.ticket)
    key = parse_key(upload.key, is_unicode=context.settings.unicode_keys)
    granted = (ticket.bucket, ticket.key, ticket.is_upsert, ticket.role, ticket.subject)
    # Danger: without this comparison a ticket for one object, or of another caller, could write this one.
    if granted != (upload.bucket, key, upload.is_upsert, upload.identity.role, upload.owner_id or ""):
        raise invalid_signature()
    if stored.is_too_long:
        raise await _too_long(context, request, upload, key)
    if not stored.is_complete:
        raise aborted()
    metadata = metadata_of(upload.attributes, stored.md5, stored.size)
    # Shielded: cancelled in the middle of the COMMIT it would be unknown whether the object exists.
    with existing_name_as_412(upload):
        return await context.tasks.run(_commit(context, request, upload, key, ticket, metadata, stored.size))


async def _too_long(
    context: StorageContext, request: StorageRequest, upload: Upload, key: str
) -> StorageError:
    """Return the error for the limit that the bytes exceeded: the size limit, or a quota."""
    rules = await read_rules_with_room(context, request, upload.bucket, key)
    return too_long_error(rules, size_limit_of(context, rules, upload))


async def _commit(
    context: StorageContext,
    request: StorageRequest,
    upload: Upload,
    key: str,
    ticket: UploadTicket,
    metadata: Metadata,
    size: int,
) -> dict[str, object]:
    """Write the row in one round trip if the rules are unchanged; otherwise, or if no row was written, run
    `_commit_stepwise`.
    """
    is_simple = upload.condition is None  # a condition is checked between the lock and the write
    if is_simple and ticket.rules is not None and is_within(context, ticket.rules, upload, size):
        row = await put_quickly(context, request, upload, key, ticket.version, metadata, ticket.rules)
        if row is not None:
            return row
    return await _commit_stepwise(context, request, upload, key, ticket.version, metadata, size)


async def put_quickly(
    context: StorageContext,
    request: StorageRequest,
    upload: Upload,
    key: str,
    version: str,
    metadata: Metadata,
    rules: UploadRules,
) -> dict[str, object] | None:
    """Try the policies and write a row in one round trip; None if the name exists or the bucket has other rules.

    Rows of the service role that are written at the same time share a transaction (`grouped_inserts.py`). Of the row at least `Id`
    and `Key` are returned.
    Raises: DatabaseError, and then nothing was written; Disconnected, PoolTimeout.
    """

    async def put_alone(new: NewObject) -> dict[str, object] | None:
        statements = (
            *tried_first(new.upload, new.key),
            *put_statements(new.upload, new.key, new.version, new.metadata, new.rules),
        )
        spec = TransactionSpec(
            settings_of(new.request, new.upload), statements, isolation=_ISOLATION, writes=True
        )
        *_, rows = await context.database.run(spec)
        return decode_written(rows) if rows else None

    new = NewObject(request, upload, key, version, metadata, rules)
    if is_groupable(context, upload):
        return await insert_together(context, new, put_alone)
    return await put_alone(new)


def tried_first(upload: Upload, key: str) -> list[Statement]:
    """Return the statements before those that write a row: the policies of the caller, then the service role.

    None for the service role: the role that writes is the one whose policies would be tried.
    """
    if upload.identity.is_service:
        return []
    return [*within_savepoint(policy_probe(upload, key)), switch_role(SERVICE)]


def put_statements(
    upload: Upload, key: str, version: str, metadata: Metadata, rules: UploadRules | None
) -> list[Statement]:
    """Return the statements that write a row as the service role, if the bucket's rules are still `rules`."""
    return [lock_statement(upload.bucket, key), put_statement(upload, key, version, metadata, rules)]


def is_within(context: StorageContext, rules: UploadRules, upload: Upload, size: int) -> bool:
    """Return whether the granted rules allow an upload; `_commit_stepwise` reports why the current ones do not."""
    try:
        return size <= size_limit_of(context, rules, upload)
    except StorageError:
        return False


async def _commit_stepwise(
    context: StorageContext,
    request: StorageRequest,
    upload: Upload,
    key: str,
    version: str,
    metadata: Metadata,
    size: int,
) -> dict[str, object]:
    """Write the row under the current rules, statement by statement. Raises: StorageError with the reason."""
    async with context.database.transaction(settings_of(request, upload), writes=True) as transaction:
        await try_out(transaction, policy_probe(upload, key))
        _, rules_rows = await transaction.run(
            switch_role(SERVICE),
            statement(BUCKETS["rules"], upload.bucket),
        )
        if size > size_limit_of(context, decode_rules(rules_rows), upload):
            raise too_large()
        return await write_row(transaction, upload, key, version, metadata)


def settings_of(request: StorageRequest, upload: Upload) -> list[tuple[str, str]]:
    """Return the settings of a transaction in which the policies of an upload's caller apply."""
    return settings_for(upload.identity, request.http, request.operation)


def new_version(now: float) -> str:
    """Return a random version whose first byte is that of the second: versions of one second share a folder of the blob store.

    So a sync of one folder makes many blobs durable, and a folder is created once for them.
    """
    random = bytearray(os.urandom(16))
    random[0] = int(now) & 0xFF
    return str(UUID(bytes=bytes(random), version=4))
