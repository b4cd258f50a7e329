"""Uploads under an allowance: the gateway has stored the bytes before the pool is asked; policies and row in one round trip.

    grant     the gateway gets an allowance with it, where a further upload of the caller to the bucket may be stored first
    commit    the ticket of the allowance is valid, the version is one of its series -> try the policies as the caller, and write
              the row if the bucket's rules are those of the ticket, as the commit of an upload in two steps does

An allowance gives no right: the statements are those of `commit.py`, and the policies decide. What it bounds is who may write
bytes for nothing: a caller whose last upload to that bucket was granted, for `_VALID_S`, `LARGEST_ALLOWED` bytes each.
An upload that is not written for any reason runs in two steps then, which find the reason and report it; the gateway
deletes its blob, or links it to the granted version.

Danger: the gateway names the version. It must have the series of the ticket, 40 random bits of this pool: so it cannot be the version
of an object that was uploaded under another allowance or by a grant, whose bytes a rejection or a later delete would remove.
Source: docs/reference/storage.md, sections 6.1 and 11.
"""

import secrets
from uuid import UUID

import msgspec

from schemas.blobs import LARGEST_ALLOWED, StoredBody, UploadAllowance
from schemas.http import Response
from workers.database.errors import DatabaseError
from workers.storage.model.errors import StorageError
from workers.storage.model.upload_tickets import AllowanceTicket
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.uploads.commit import WAITED, is_within, put_quickly
from workers.storage.uploads.model import Upload, metadata_of, name_of, size_limit_of

_VALID_S = 60.0
_SPARE_S = 30.0
"""How much longer the ticket is valid: an upload may begin in the last second of its allowance, and take its time."""
_SERIES = slice(2, 13)
"""Characters of a version: the first two are those of the second, the rest behind the series is random."""


def with_allowance(context: StorageContext, upload: Upload, granted: Response) -> Response:
    """Return the response of a grant with an allowance for further uploads, where the bucket's rules are fixed values."""
    rules = context.upload_rules.get(upload.bucket)  # None: a quota, which changes with every upload
    if granted.grant is None or rules is None or upload.condition is not None:
        return granted
    series = str(UUID(bytes=secrets.token_bytes(16)))[_SERIES]
    ticket = AllowanceTicket(
        upload.bucket,
        upload.identity.role,
        upload.owner_id or "",
        series,
        rules,
        context.clock() + _VALID_S + _SPARE_S,
    )
    most = min(LARGEST_ALLOWED, size_limit_of(context, rules, upload))
    allowance = UploadAllowance(context.tickets.seal_allowance(ticket), upload.bucket, series, most, _VALID_S)
    return msgspec.structs.replace(granted, grant=msgspec.structs.replace(granted.grant, allowance=allowance))


async def commit_allowed(
    context: StorageContext, request: StorageRequest, upload: Upload, stored: StoredBody
) -> dict[str, object] | None:
    """Write the row of an object whose bytes were stored under an allowance, and return its columns; None if no row was written.

    It is shielded from cancellation. Raises: DatabaseError, Disconnected, PoolTimeout; then no row was written, or it is
    unknown whether it was.
    """
    key, ticket = name_of(context, upload), context.tickets.open_allowance(stored.ticket)
    if ticket is None or isinstance(key, StorageError) or upload.condition is not None:
        return None
    if not _is_allowed(ticket, upload, stored.version, context.clock()):
        return None
    if not is_within(context, ticket.rules, upload, stored.size):
        return None
    metadata = metadata_of(upload.attributes, stored.md5, stored.size)
    try:
        return await context.tasks.run(
            put_quickly(context, request, upload, key, stored.version, metadata, ticket.rules)
        )
    except DatabaseError as error:
        if error.code in WAITED:
            raise
        return None  # rolled back by the server: two steps find the reason


def _is_allowed(ticket: AllowanceTicket, upload: Upload, version: str, now: float) -> bool:
    """Return whether a ticket is for this caller and bucket, still valid, and for this version."""
    granted = (ticket.bucket, ticket.role, ticket.subject)
    if granted != (upload.bucket, upload.identity.role, upload.owner_id or "") or now > ticket.until:
        return False
    try:
        is_canonical = str(UUID(version)) == version
    except ValueError:
        return False
    return is_canonical and version[_SERIES] == ticket.series
