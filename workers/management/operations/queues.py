"""Operations on queues of pgmq: list, look in, send, retry, archive, delete, purge, create, drop.

Messages are read without hiding them from consumers. Tables of queues are named by queues that exist, and quoted.
"""

import re
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.backends.typed_rows import (
    composed,
    needs_extension,
    read_rows,
    rows_of_form,
    run_all,
    write_row,
    write_rows,
)
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.management.operations.jobs import SQL, check_id
from workers.sql import compose

PGMQ = ("pgmq", "Queues")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,47}")
_MOST_QUEUES = 1000
_MOST_IDS = 1000
_LONGEST_DELAY_S = 366 * 86400


class QueueSummary(Struct, frozen=True):
    """A queue: messages that wait, those of them that are not hidden, all that were ever sent; ages in seconds."""

    name: str
    messages: int
    visible: int
    total: int
    is_unlogged: bool
    oldest_s: int | None = None
    newest_s: int | None = None
    created_at: str | None = None


class QueueReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A queue by its name."""

    queue: str


class QueueCreation(Struct, frozen=True, forbid_unknown_fields=True):
    """A queue to create; an unlogged one is faster and does not survive a crash of the server."""

    queue: Annotated[str, limits.text(47)]
    is_unlogged: bool = False


class MessagesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Messages of a queue, or of its archive, after a number."""

    queue: str
    archive: bool = False
    after: int = 0
    limit: PageLimit = 100


class QueueMessage(Struct, frozen=True):
    """A message. `visible_at`: hidden from consumers until then; `reads`: how often one has taken it."""

    id: int
    reads: int
    enqueued_at: str
    visible_at: str
    message: Any = None
    headers: Any = None
    archived_at: str | None = None


class MessagePage(Struct, frozen=True):
    """Messages by number; `next` is `after` of the next page, null at the end."""

    rows: list[QueueMessage]
    next: int | None


class MessageToSend(Struct, frozen=True, forbid_unknown_fields=True):
    """A message to send; it is hidden for `delay_s` seconds."""

    queue: str
    message: Any
    headers: dict[str, Any] | None = None
    delay_s: Annotated[int, limits.number(0, _LONGEST_DELAY_S)] = 0


class MessageNumbers(Struct, frozen=True, forbid_unknown_fields=True):
    """Messages of a queue by their numbers, at most a thousand."""

    queue: str
    ids: Annotated[list[int], limits.entries(_MOST_IDS)]


class MessagesToRetry(Struct, frozen=True, forbid_unknown_fields=True):
    """Messages to hand out at once: hidden ones of the queue, or those of its archive, which are sent again."""

    queue: str
    ids: Annotated[list[int], limits.entries(_MOST_IDS)]
    archive: bool = False


class MessageReference(Struct, frozen=True):
    """A message by its number."""

    id: int


class ChangedMessages(Struct, frozen=True):
    """The messages that were changed; those that were gone are not among them."""

    ids: list[int]


class PurgedQueue(Struct, frozen=True):
    """How many messages were deleted."""

    count: int


async def list_queues(context: OperationContext, arguments: NoArguments) -> list[QueueSummary]:
    """Return the queues with their figures."""
    del arguments
    with needs_extension(*PGMQ):
        return await read_rows(context, QueueSummary, SQL["queues"], _MOST_QUEUES)


async def list_messages(context: OperationContext, arguments: MessagesQuery) -> MessagePage:
    """Return a page of the messages of a queue, without taking them."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    name = await _queue(context, arguments.queue)
    archived = compose.raw("archived_at" if arguments.archive else "null")
    sql = compose.concat(
        compose.raw(
            "select pg_catalog.json_build_object('id', msg_id, 'reads', read_ct, 'enqueued_at', enqueued_at,"
            " 'visible_at', vt, 'message', message, 'headers', headers, 'archived_at', "
        ),
        archived,
        compose.raw(") from "),
        queue_table(name, "a" if arguments.archive else "q"),
        compose.raw(" where msg_id > $1::bigint order by msg_id limit $2::bigint"),
    )
    with needs_extension(*PGMQ), rows_of_form():
        [rows] = await context.database.read(
            composed(sql, check_id(arguments.after), limit), timeout_s=context.settings.statement_timeout_s
        )
        messages = decode_rows(rows, QueueMessage)
    return MessagePage(messages, messages[-1].id if len(messages) == limit else None)


async def create(context: OperationContext, arguments: QueueCreation) -> Done:
    """Create a queue of role `postgres`."""
    if not _NAME.fullmatch(arguments.queue):
        raise invalid_arguments("`queue` must have 1 to 47 letters, digits, _ and -")
    with needs_extension(*PGMQ):
        if await read_rows(context, _QueueName, *_find(arguments.queue)):
            raise ManagementError(409, "exists", f"There is a queue {arguments.queue} already")
        await run_all(context, [statement(SQL["create_queue"], arguments.queue, arguments.is_unlogged)])
    return Done()


async def send(context: OperationContext, arguments: MessageToSend) -> MessageReference:
    """Send a message to a queue."""
    if not 0 <= arguments.delay_s <= _LONGEST_DELAY_S:
        raise invalid_arguments("`delay_s` must be seconds, a year at most")
    name = await _queue(context, arguments.queue)
    message, headers = (
        msgspec.json.encode(value).decode() for value in (arguments.message, arguments.headers)
    )
    values = (name, message, headers if arguments.headers else None, arguments.delay_s)
    with needs_extension(*PGMQ):
        sent = await write_row(context, MessageReference, SQL["send_message"], *values)
    context.after = sent
    return sent


async def retry(context: OperationContext, arguments: MessagesToRetry) -> ChangedMessages:
    """Hand out messages at once: hidden ones become visible, archived ones are sent again as new messages."""
    if not arguments.archive:
        return await _change(context, "make_visible", arguments.queue, arguments.ids)
    numbers, name = _array(arguments.ids), await _queue(context, arguments.queue)
    sql = compose.concat(
        compose.raw("with taken as (delete from "),
        queue_table(name, "a"),
        compose.raw(" where msg_id = any ($1::bigint[]) returning message, headers) insert into "),
        queue_table(name, "q"),
        compose.raw(
            " (vt, message, headers) select pg_catalog.clock_timestamp(), message, headers from taken"
            " returning pg_catalog.json_build_object('id', msg_id)"
        ),
    )
    with needs_extension(*PGMQ), rows_of_form():
        [rows] = await context.database.write(
            composed(sql, numbers), timeout_s=context.settings.statement_timeout_s
        )
        return _changed(decode_rows(rows, MessageReference))


async def archive(context: OperationContext, arguments: MessageNumbers) -> ChangedMessages:
    """Move messages to the archive of their queue."""
    return await _change(context, "archive_messages", arguments.queue, arguments.ids)


async def delete(context: OperationContext, arguments: MessageNumbers) -> ChangedMessages:
    """Delete messages."""
    return await _change(context, "delete_messages", arguments.queue, arguments.ids)


async def purge(context: OperationContext, arguments: QueueReference) -> PurgedQueue:
    """Delete all messages of a queue; the archive stays."""
    name = await _queue(context, arguments.queue)
    with needs_extension(*PGMQ):
        purged = await write_row(context, PurgedQueue, SQL["purge_queue"], name)
    context.before = purged
    return purged


async def drop(context: OperationContext, arguments: QueueReference) -> Done:
    """Drop a queue with its messages and its archive."""
    name = await _queue(context, arguments.queue)
    with needs_extension(*PGMQ):
        await run_all(context, [statement(SQL["drop_queue"], name)])
    return Done()


async def _queue(context: OperationContext, name: str) -> str:
    """Return the name of an existing queue as it was created. Raises: ManagementError (404)."""
    if _NAME.fullmatch(name):
        with needs_extension(*PGMQ):
            rows = await read_rows(context, _QueueName, *_find(name))
        if rows and _NAME.fullmatch(rows[0].name):
            return rows[0].name
    raise not_found(f"queue {name[:80]!r}")


class _QueueName(Struct, frozen=True):
    name: str


def _find(name: str) -> tuple[str, str]:
    return SQL["queue"], name


async def _change(context: OperationContext, statement: str, queue: str, ids: list[int]) -> ChangedMessages:
    numbers, name = _array(ids), await _queue(context, queue)
    with needs_extension(*PGMQ):
        return _changed(await write_rows(context, MessageReference, SQL[statement], name, numbers))


def _changed(messages: list[MessageReference]) -> ChangedMessages:
    return ChangedMessages(sorted(message.id for message in messages))


def _array(ids: list[int]) -> str:
    """Return numbers as an array of Postgres. Raises: ManagementError (400)."""
    if not 1 <= len(ids) <= _MOST_IDS:
        raise invalid_arguments(f"`ids` must have 1 to {_MOST_IDS} entries")
    return "{" + ",".join(str(check_id(id)) for id in ids) + "}"


def queue_table(queue: str, prefix: str) -> compose.Sql:
    """Return the name of the table of a queue (prefix q), or of its archive (a)."""
    return compose.qualified("pgmq", f"{prefix}_{queue}".lower())


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("queues.list", "List queues", NoArguments, list[QueueSummary], reader, list_queues),
        Operation("queues.messages", "Look into a queue or its archive", MessagesQuery, MessagePage, reader, list_messages),
        Operation("queues.create", "Create a queue", QueueCreation, Done, developer, create, changes=True),
        Operation("queues.send", "Send a message", MessageToSend, MessageReference, developer, send, changes=True, secrets=frozenset({"message", "headers"})),
        Operation("queues.retry", "Hand out messages again", MessagesToRetry, ChangedMessages, developer, retry, changes=True),
        Operation("queues.archive", "Archive messages", MessageNumbers, ChangedMessages, developer, archive, changes=True),
        Operation("queues.delete_messages", "Delete messages", MessageNumbers, ChangedMessages, developer, delete, changes=True, is_confirmed=True),
        Operation("queues.purge", "Delete all messages of a queue", QueueReference, PurgedQueue, developer, purge, changes=True, is_confirmed=True),
        Operation("queues.drop", "Drop a queue", QueueReference, Done, developer, drop, changes=True, is_confirmed=True),
    ]  # fmt: skip
