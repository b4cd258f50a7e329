"""`PATCH upload/resumable/{id}`: more bytes, in steps around them.

    begin      rules and policies tried as for an upload of one go, the upload held -> `Wanted`: where to append
    renew      now and then while bytes come; the answer tells whether another request waits
    arrived    what came is written down, also when the client broke off; the last byte brings the object's row

Source: reference page "storage", section 9.
"""

from schemas.blobs import Stored, Wanted
from schemas.http import Headers, Response
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from workers.storage.asked import Asked
from workers.storage.buckets import BucketRules, rules_for
from workers.storage.context import Store
from workers.storage.errors import Code
from workers.storage.tus import rows
from workers.storage.tus.completing import commit
from workers.storage.tus.headers import expires, read_late_length, read_name, read_offset, refuse_other_bodies
from workers.storage.tus.refusals import lost, no_such_upload, offset_conflict, too_long
from workers.storage.tus.rows import Row
from workers.storage.tus.tickets import open_ticket, seal
from workers.storage.tus.writers import settings_of, upload_of, writer_of
from workers.storage.uploads import beyond, most_of, probe_of, room_in


async def begin(store: Store, asked: Asked) -> Response:
    """Say where more bytes go. Raises: StorageError, Refused."""
    refuse_other_bodies(asked)
    offset = read_offset(asked)
    row = await rows.find(store, read_name(asked.parameters["id"]))
    who = writer_of(store, asked, row.bucket_id, row.key)
    if row.is_complete:
        return _repeated(row, offset)
    length = read_late_length(asked, row.upload_length)
    upload = upload_of(row, who.identity, length)
    rules = await rules_for(store, asked, row.bucket_id, row.key)
    most = most_of(store, rules, upload)
    if length is not None and length > most:
        raise too_long()
    await store.probe(settings_of(asked, upload), probe_of(upload, row.key))
    limit = int(room_in(rules, most)) if length is None else length
    if offset + _announced(asked) > limit:
        raise _refusal(rules, most, length)
    return await _held(store, row, offset, length, limit)


async def _held(store: Store, row: Row, offset: int, length: int | None, limit: int) -> Response:
    """Hold the upload, if it ends where the client goes on. Another writer may have ended it, or told its length."""
    row, writer = await rows.hold(store, row.version)
    if writer is None:
        return _repeated(row, offset)
    try:
        end = await store.blobs.appended(row.version)
        if end != offset or row.upload_length not in (None, length):
            raise offset_conflict()
        if length is not None and row.upload_length is None:
            await rows.declare(store, row.version, writer, length)
    except BaseException:
        store.errands.begin(rows.let_go(store, row.version, writer))
        raise
    known = -1 if length is None else length
    return Response(200, wanted=Wanted(row.blob, limit, seal(row.version, writer), offset, length=known))


def _repeated(row: Row, offset: int) -> Response:
    """Answer who goes on with what is complete: the answer to the last piece may have been lost."""
    if offset != row.upload_offset:
        raise offset_conflict()
    return written(row, row.upload_offset)


async def arrived(store: Store, asked: Asked, stored: Stored) -> tuple[Row, int]:
    """Write down how far an upload came, and finish it when all is there. Raises: StorageError, Refused.

    Asking again is fine: the edge does, where the answer was lost.
    """
    version, writer = open_ticket(stored.ticket)
    row = await _known(store, version)
    if row.is_complete:
        return row, row.upload_offset
    if stored.md5 and stored.size == row.upload_length:
        who = writer_of(store, asked, row.bucket_id, row.key)
        upload = upload_of(row, who.identity, row.upload_length)
        await commit(store, asked, upload, version, writer, stored.md5)
        return await _known(store, version), stored.size
    if not await rows.advance(store, version, writer, stored.size):
        raise lost()
    if stored.is_too_long:
        raise await _too_long(store, asked, row)
    return row, stored.size


async def _too_long(store: Store, asked: Asked, row: Row) -> Exception:
    """Tell which limit the bytes passed that came: that of the upload, or a quota."""
    if row.upload_length is not None:
        return too_long()
    who = writer_of(store, asked, row.bucket_id, row.key)
    rules = await rules_for(store, asked, row.bucket_id, row.key)
    return _refusal(rules, most_of(store, rules, upload_of(row, who.identity, None)), None)


def _refusal(rules: BucketRules, most: int, length: int | None) -> Exception:
    """Give the refusal of bytes beyond the limit; the length that an upload was said to have is one."""
    told = beyond(rules, most)
    return told if length is None and told.code is Code.QUOTA_EXCEEDED else too_long()


async def renew(store: Store, stored: Stored) -> Response:
    """Let a writer go on. Raises: Refused (423) if another has the upload, or waits for it."""
    version, writer = open_ticket(stored.ticket)
    if not await rows.renew(store, version, writer):
        raise lost()
    return Response(204)


def written(row: Row, offset: int) -> Response:
    """Say how far an upload came."""
    headers: Headers = [("upload-offset", str(offset))]
    headers.append(("tus-complete", "1") if row.is_complete else expires(row.expires_at))
    return Response(204, headers)


async def _known(store: Store, version: str) -> Row:
    found = await rows.look_up(store, version)
    if found is None:
        raise no_such_upload()
    return found


def _announced(asked: Asked) -> int:
    """Give the bytes that a request says it brings."""
    text = (asked.header("content-length") or "").strip()
    return parse_whole_number(text, most=LARGEST_SIZE) or 0
