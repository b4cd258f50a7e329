"""Uploads of one go, in two steps around the bytes: a grant, then the row.

    grant    the bucket's rules, the policies tried and undone -> `Wanted`: where the bytes go, at most how many
    commit   the same again with what is known by now, then the row as the service role, the version switched

One round trip each. The ticket keeps the rules of the grant, and the row is written only if they still hold; where they do
not, or nothing was written, the commit is made anew, a step at a time, to find out why.

No transaction is open while bytes arrive. The ticket between the steps says which version was granted, to whom. A policy
that changed meanwhile holds. The version that was replaced goes to the tombstones by a trigger, so nothing that a
rollback brings back has lost its bytes. Source: reference page "storage", sections 6.1, 6.2, 6.9, 11.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

import msgspec

from schemas.blobs import Blob, Stored, Wanted
from schemas.http import Response
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction, statement
from workers.database.session import Rows, Statement, Work
from workers.storage.asked import Asked
from workers.storage.buckets import SQL as BUCKETS
from workers.storage.buckets import BucketRules, rules_for, rules_in, rules_of
from workers.storage.callers import SERVICE, Identity, settings_for, uuid_or_none
from workers.storage.context import Store, switch
from workers.storage.errors import (
    Code,
    StorageError,
    aborted,
    already_exists,
    invalid_signature,
    quota_exceeded,
    too_large,
)
from workers.storage.media_types import parse_media_type, refuse_mime_type
from workers.storage.objects import SQL
from workers.storage.rules import PLACEHOLDER, RuleKey, limit_of, parse_key
from workers.storage.tickets import Ticket

Metadata = Mapping[str, object]

_ISOLATION = "read committed"
"""Named so that the transaction has a savepoint and its end in the same round trip."""


@dataclass(frozen=True, slots=True)
class About:
    """What an upload says of its object. Its type is one media type: making one with any other is a StorageError (400)."""

    mime_type: str
    cache_control: str
    robots: str = ""
    user_metadata: bytes | None = None
    """JSON of an object."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mime_type", parse_media_type(self.mime_type))


@dataclass(frozen=True, slots=True)
class Upload:
    """An object that shall be written. `identity` is whose policies hold; `length` what was declared, None if nothing was."""

    bucket: str
    key: str
    identity: Identity
    owner_id: str | None
    is_upsert: bool
    about: About
    length: int | None = None
    is_form: bool = False
    is_standard: bool = True
    """False for what comes by S3: then only the limit of all uploads and that of the bucket count."""

    @property
    def owner(self) -> tuple[str | None, str | None]:
        """Give the columns `owner` and `owner_id`."""
        return uuid_or_none(self.owner_id), self.owner_id


async def grant(store: Store, asked: Asked, upload: Upload) -> Response:
    """Say where the bytes shall go. Raises: StorageError; DatabaseError and its siblings."""
    name = name_of(store, upload)
    rules, refusal = await _tried(store, asked, upload, name)
    most = most_of(store, rules, upload)
    length = None if upload.is_form else upload.length
    if length is not None and length > most:
        raise too_large()
    if isinstance(name, StorageError):
        raise name
    if refusal is not None:
        raise refusal
    most = room_in(rules, most)
    version = str(uuid4())
    ticket = Ticket(
        upload.bucket,
        name,
        version,
        upload.is_upsert,
        upload.identity.role,
        upload.owner_id or "",
        rules.key,
    )
    wanted = Wanted(Blob(upload.bucket, version), int(most), store.tickets.seal(ticket))
    return Response(200, wanted=wanted)


def name_of(store: Store, upload: Upload) -> str | StorageError:
    """Give the name of the object, or why it can have none: that is told after what else is wrong."""
    try:
        return parse_key(upload.key, is_unicode=store.settings.unicode_keys)
    except StorageError as error:
        return error


async def _tried(
    store: Store, asked: Asked, upload: Upload, name: str | StorageError
) -> tuple[BucketRules, DatabaseError | None]:
    """Read the bucket's rules and try the policies in one round trip; give the rules, and what the policies say."""
    if isinstance(name, StorageError):
        return await rules_of(store, asked, upload.bucket), None
    try:
        found, *_ = await store.probe(
            asked.as_service(),
            statement(BUCKETS["rules_for"], upload.bucket, name),
            switch(upload.identity),
            probe_of(upload, name),
        )
    except DatabaseError as error:  # the rules have the first word, and went with the rest
        return await rules_of(store, asked, upload.bucket), error
    return rules_in(found), None


async def commit(store: Store, asked: Asked, upload: Upload, stored: Stored) -> dict[str, object]:
    """Write the row of an object whose bytes have arrived, and give its columns.

    It is finished once it has begun, also if the client goes away. Raises: as `grant`, and then nothing was written.
    """
    ticket = store.tickets.open(stored.ticket)
    key = parse_key(upload.key, is_unicode=store.settings.unicode_keys)
    granted = (ticket.bucket, ticket.key, ticket.is_upsert, ticket.role, ticket.subject)
    if granted != (upload.bucket, key, upload.is_upsert, upload.identity.role, upload.owner_id or ""):
        raise invalid_signature()
    if stored.is_too_long:
        raise await _too_long(store, asked, upload, key)
    if not stored.is_complete:
        raise aborted()
    metadata = metadata_of(upload.about, stored.md5, stored.size)
    return await store.errands.finish(_commit(store, asked, upload, key, ticket, metadata, stored.size))


async def _too_long(store: Store, asked: Asked, upload: Upload, key: str) -> StorageError:
    """Tell which limit the bytes passed that came: that of the upload, or a quota."""
    rules = await rules_for(store, asked, upload.bucket, key)
    return beyond(rules, most_of(store, rules, upload))


async def _commit(
    store: Store, asked: Asked, upload: Upload, key: str, ticket: Ticket, metadata: Metadata, size: int
) -> dict[str, object]:
    """Write the row in one round trip where the rules are those of the grant; else, or if nothing was written, look again."""
    is_known = ticket.rules is not None and _is_within(store, ticket.rules, upload, size)
    if is_known:
        settings, put = _settings(asked, upload), _put(upload, key, ticket.version, metadata, ticket.rules)
        statements = (*_tries(probe_of(upload, key)), switch(SERVICE), lock(upload.bucket, key), put)
        *_, rows = await store.database.run(Work(settings, statements, isolation=_ISOLATION))
        if rows:
            return _written(rows)
    return await _commit_anew(store, asked, upload, key, ticket.version, metadata, size)


def _is_within(store: Store, rules: RuleKey, upload: Upload, size: int) -> bool:
    """Tell whether rules take an upload; why not is told by those that hold now."""
    try:
        return size <= most_of(store, rules, upload)
    except StorageError:
        return False


async def _commit_anew(
    store: Store, asked: Asked, upload: Upload, key: str, version: str, metadata: Metadata, size: int
) -> dict[str, object]:
    """Write the row as the rules are by now, and say what they refuse."""
    async with store.database.transaction(_settings(asked, upload)) as transaction:
        await try_out(transaction, probe_of(upload, key))
        _, found, _, rows = await transaction.run(
            switch(SERVICE),
            statement(BUCKETS["rules"], upload.bucket),
            lock(upload.bucket, key),
            _put(upload, key, version, metadata),
        )
        if size > most_of(store, rules_in(found), upload):
            raise too_large()
        return _written(rows)


async def try_out(transaction: Transaction, *probes: Statement) -> list[Rows]:
    """Run statements as the caller and undo them, within a transaction that goes on. Raises: DatabaseError."""
    return (await transaction.run(*_tries(*probes)))[1:-1]


def _tries(*probes: Statement) -> Sequence[Statement]:
    return statement(SQL["savepoint"]), *probes, statement(SQL["roll_back"])


def lock(bucket: str, key: str) -> Statement:
    """Give the statement that makes writers of one object wait for one another."""
    return statement(SQL["lock"], bucket, key)


def most_of(store: Store, rules: BucketRules | RuleKey, upload: Upload) -> int:
    """Give how many bytes a bucket takes of this upload. Raises: StorageError for a type it does not take."""
    if upload.key.endswith(PLACEHOLDER):
        return 0
    refuse_mime_type(upload.about.mime_type, rules.allowed_mime_types)
    own = store.settings
    standard = own.largest_standard if upload.is_standard else own.largest
    return limit_of(rules.file_size_limit, standard=standard, largest=own.largest)


def room_in(rules: BucketRules, most: int) -> int:
    """Give how many of the bytes that an upload may have the quotas leave room for."""
    return most if rules.room is None else min(most, rules.room)


def beyond(rules: BucketRules, most: int) -> StorageError:
    """Give the refusal of an upload that is longer than `room_in` says."""
    return quota_exceeded() if rules.room is not None and rules.room < most else too_large()


def probe_of(upload: Upload, key: str, metadata: Metadata | None = None) -> Statement:
    """Give the statement that policies are tried with: what is declared, before any byte is there."""
    declared = {**(metadata or {}), "mimetype": upload.about.mime_type}
    if upload.length is not None:
        declared["contentLength"] = upload.length
    if upload.is_form:
        declared["isForm"] = True  # the declared length is that of the form, and says less of the file
    name = "probe_upsert" if upload.is_upsert else "probe_insert"
    return statement(
        SQL[name], key, upload.bucket, *upload.owner, _json(declared), upload.about.user_metadata
    )


def metadata_of(about: About, md5: str, size: int, now: datetime | None = None) -> dict[str, object]:
    """Give what a row says of its bytes."""
    moment = (now or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    told: dict[str, object] = {
        "eTag": f'"{md5}"',
        "size": size,
        "mimetype": about.mime_type,
        "cacheControl": about.cache_control,
        "lastModified": moment,
        "contentLength": size,
        "httpStatusCode": 200,
    }
    return told | ({"xRobotsTag": about.robots} if about.robots else {})


async def write_row(
    transaction: Transaction, upload: Upload, key: str, version: str, metadata: Metadata
) -> dict[str, object]:
    """Write a row as the service role, whose transaction it is. Raises: StorageError (409), DatabaseError."""
    _, rows = await transaction.run(lock(upload.bucket, key), _put(upload, key, version, metadata))
    return _written(rows)


def _put(
    upload: Upload, key: str, version: str, metadata: Metadata, rules: RuleKey | None = None
) -> Statement:
    """Give the statement that writes a row, if the bucket's rules are still those that are given."""
    name = "upsert" if upload.is_upsert else "insert"
    needed = None if rules is None else msgspec.json.encode(rules)
    values = (key, upload.bucket, *upload.owner, version, _json(metadata), upload.about.user_metadata)
    return statement(SQL[name], *values, needed)


def _written(rows: Rows) -> dict[str, object]:
    if not rows:
        raise already_exists(Code.KEY_ALREADY_EXISTS)
    return msgspec.json.decode(rows[0][0] or b"{}", type=dict[str, object])


def _settings(asked: Asked, upload: Upload) -> list[tuple[str, str]]:
    return settings_for(upload.identity, asked.request, asked.operation)


def _json(value: Metadata) -> bytes:
    return msgspec.json.encode(value)
