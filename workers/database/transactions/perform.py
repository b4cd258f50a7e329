"""Runs a `TransactionSpec` on one connection: all of it in one write, and what has to follow.

    [begin]                                 only if the transaction is explicit
    reset all                               undoes what an earlier caller set for the session
    select <guard>, num_nulls(set_config($1, $2, true), ...)
    statement ...
    [commit | set constraints all immediate; rollback]
    Sync                                    ends the transaction if it is implicit

With a decision there are two round trips: the end follows when the rows are known.

Nothing that a caller leaves in the session may affect the next one (architecture, decision 9). Session settings are undone
by `reset all`; the role is set each time; session advisory locks are released by the settings statement. Two things exist
before `reset all` can undo them: a default of the transaction (isolation, read only) that was in force when it began, and
temporary objects. The guard raises an error for both, so nothing of the transaction is done; the session is cleaned and the
transaction sent a second time. A session that has a temporary schema starts every transaction with `discard temp` from
there on. What remains between callers until the connection is closed: sequences' `lastval()`, cursors WITH HOLD, names of
SQL's PREPARE, LISTEN (until the first notification), and variables that procedural languages keep.

Hot path: `perform`, `perform_long`, `_begin_exchange`, `_messages`, `_begin_messages`; one exchange for a transaction whose statements the
connection already has.
"""

import asyncio
from functools import lru_cache
from typing import NoReturn

from schemas.causes import SETTING as CAUSE_SETTING
from workers.database.errors import DatabaseError
from workers.database.protocol import frontend_messages
from workers.database.protocol.backend_reader import IDLE, IN_TRANSACTION
from workers.database.protocol.exchange import ExchangeReply, transaction_changed
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.protocol.rows import Rows
from workers.database.transactions.causes import cause_for
from workers.database.transactions.model import (
    CommitDecision,
    RowsAndLongValue,
    TransactionEnd,
    TransactionSpec,
)
from workers.database.transactions.open_transaction import (
    STALE_STATEMENT_ERRORS,
    append_messages,
    finish_by_decision,
    roll_back_if_open,
)
from workers.database.transactions.settings_statement import settings_text

ISOLATION_LEVELS = frozenset({"read uncommitted", "read committed", "repeatable read", "serializable"})

_NOT_CLEAN = "headwater: the session is not clean"
_NOT_CLEAN_TEMPORARY = f"{_NOT_CLEAN}: temporary objects"
_NOT_CLEAN_DEFAULTS = f"{_NOT_CLEAN}: defaults of the transaction"
_TEMPORARY_SCHEMA = "pg_catalog.pg_my_temp_schema()"


async def perform(
    connection: PostgresConnection, spec: TransactionSpec, decide: CommitDecision | None = None
) -> list[Rows]:
    """Run one transaction on a settled connection and return the rows of each statement.

    If the caller is cancelled or Disconnected is raised, the connection may not be settled afterwards.
    Raises: DatabaseError, Disconnected, and whatever `decide` raises; ValueError if `decide` and `spec.end` do not match.
    """
    has_decision = spec.end is TransactionEnd.DECIDE or decide is not None
    if has_decision and (decide is None or spec.end is not TransactionEnd.DECIDE):
        raise ValueError("a decision goes with End.DECIDE, and End.DECIDE with a decision")
    if decide is None:
        if not _is_described(connection, spec):
            await _describe(connection, spec)
        sent, before = _begin_exchange(connection, spec)
        try:
            reply = await sent
        except asyncio.CancelledError:
            connection.give_up_reply(sent)
            raise
        if not _ended_as_specified(connection, spec, reply):
            reply, before = await _repeat_or_fail(connection, spec, reply, before)
        return reply.results[before : before + len(spec.statements)]
    results = await perform_open(connection, spec)
    await finish_by_decision(connection, decide, results)
    return results


async def perform_open(connection: PostgresConnection, spec: TransactionSpec) -> list[Rows]:
    """Begin a transaction and run its first statements; it stays open for open_transaction.py. Raises: as `perform`."""
    if spec.end is not TransactionEnd.DECIDE:
        raise ValueError("a transaction that stays open needs TransactionEnd.DECIDE")
    await _describe(connection, spec)
    messages, before = _messages(connection, spec)
    reply = await connection.exchange(messages)
    if not _ended_as_specified(connection, spec, reply):
        reply, before = await _repeat_or_fail(connection, spec, reply, before)
    return reply.results[before : before + len(spec.statements)]


async def perform_long(connection: PostgresConnection, spec: TransactionSpec) -> RowsAndLongValue:
    """Run one transaction that only reads; the first row of its last statement may end in a long value.

    With a long value the transaction continues, and the connection is in use, until the value has ended. Raises: as `perform`.
    """
    if spec.end is not TransactionEnd.COMMIT or not spec.read_only or not spec.statements:
        raise ValueError("a long value needs a read-only transaction without a decision")
    if not _is_described(connection, spec):
        await _describe(connection, spec)
    sent, before = _begin_exchange(connection, spec, is_long=True)
    try:
        reply = await sent
    except asyncio.CancelledError:
        connection.give_up_reply(sent)
        raise
    if reply.long is None and not _ended_as_specified(connection, spec, reply):
        reply, before = await _repeat_or_fail(connection, spec, reply, before, is_long=True)
    return reply.results[before : before + len(spec.statements)], reply.long


def messages_for_shared(
    connection: PostgresConnection, spec: TransactionSpec
) -> tuple[list[bytes], int] | None:
    """Return the messages of a transaction that is sent together with others, and how many results come before its own.

    Return None if a statement is not prepared on this connection: then the transaction must be sent alone, because after an
    error in front of it its Parse would be skipped.
    """
    statements = connection.statements
    if connection.has_temporary or spec.isolation is not None or spec.end is not TransactionEnd.COMMIT:
        return None
    for statement in spec.statements:
        if not statements.is_prepared(statement.text, columns=bool(statement.binary)):
            return None
    messages, before = _messages(connection, spec)
    if not statements.is_settled:
        statements.confirm_parsed(0)
        return None
    return messages, before


def result_of_shared(spec: TransactionSpec, reply: ExchangeReply, before: int) -> RowsAndLongValue | None:
    """Return the result of such a transaction; None if stale connection state made it fail, and it must be sent alone.

    Raises: DatabaseError.
    """
    if reply.error is not None:
        if _is_stale_state(reply, before):
            return None
        raise _with_statement_index(reply.error, len(reply.results) - before, spec)
    if reply.long is None and (reply.status != IDLE or reply.tag == b"ROLLBACK"):
        raise transaction_changed()
    return reply.results[before : before + len(spec.statements)], reply.long


def _ended_as_specified(connection: PostgresConnection, spec: TransactionSpec, reply: ExchangeReply) -> bool:
    """Return whether the transaction ended, or stayed open, as its spec asked."""
    if spec.end is TransactionEnd.COMMIT:
        return reply.error is None and connection.status == IDLE and reply.tag != b"ROLLBACK"
    expected = IN_TRANSACTION if spec.end is TransactionEnd.DECIDE else IDLE
    return reply.error is None and connection.status == expected


async def _fail(
    connection: PostgresConnection, spec: TransactionSpec, reply: ExchangeReply, before: int
) -> NoReturn:
    """Roll back and raise why the transaction failed. Raises: DatabaseError."""
    await roll_back_if_open(connection)
    if reply.error is not None:
        raise _with_statement_index(reply.error, len(reply.results) - before, spec)
    raise transaction_changed()


def _begin_exchange(
    connection: PostgresConnection, spec: TransactionSpec, *, is_long: bool = False
) -> "tuple[asyncio.Future[ExchangeReply], int]":
    """Send the transaction; return the future of its reply and the number of results before those of its statements. Hot path."""
    messages, before = _messages(connection, spec)
    separator = spec.statements[-1].separator if spec.statements else None
    last = before + len(spec.statements) - 1 if is_long or separator is not None else -1
    return connection.begin_exchange(messages, last, separator), before


async def _repeat_or_fail(
    connection: PostgresConnection,
    spec: TransactionSpec,
    reply: ExchangeReply,
    before: int,
    *,
    is_long: bool = False,
) -> tuple[ExchangeReply, int]:
    """Send a transaction that did not end as it should once more if stale connection state made it fail: then nothing was done.

    Return what `_begin_exchange` does. Raises: DatabaseError, Disconnected.
    """
    if reply.error is not None and await _was_cleaned(connection, reply, before):
        await _describe(connection, spec)
        sent, before = _begin_exchange(connection, spec, is_long=is_long)
        try:
            reply = await sent
        except asyncio.CancelledError:
            connection.give_up_reply(sent)
            raise
        if reply.long is not None or _ended_as_specified(connection, spec, reply):
            return reply, before
    await _fail(connection, spec, reply, before)


def _messages(connection: PostgresConnection, spec: TransactionSpec) -> tuple[list[bytes], int]:
    """Return the messages of a transaction and how many results come before those of its statements."""
    out: list[bytes] = []
    try:
        before = _begin_messages(connection, spec, out)
        for statement in spec.statements:
            append_messages(connection, statement, out)
        if spec.end is TransactionEnd.ROLLBACK:
            _append_bare(connection, out, "set constraints all immediate")
            _append_bare(connection, out, "rollback")
        elif spec.end is TransactionEnd.COMMIT and spec.isolation is not None:
            _append_bare(connection, out, "commit")
    except BaseException:
        connection.statements.confirm_parsed(0)
        raise
    return out, before


def _begin_messages(connection: PostgresConnection, spec: TransactionSpec, out: list[bytes]) -> int:
    """Append the messages that come before the statements; return how many results they have."""
    before = 2
    if spec.isolation is not None or spec.end is not TransactionEnd.COMMIT:
        _append_bare(connection, out, _begin_text(spec.isolation))
        before += 1
    if connection.has_temporary:
        _append_bare(connection, out, "discard temp")
        before += 1
    _append_bare(connection, out, "reset all")
    settings = [*spec.settings]
    for name, _ in settings:
        if name == "role":
            break
    else:
        settings.insert(0, ("role", "none"))
    if spec.read_only:
        settings.append(("transaction_read_only", "on"))
    elif (cause := cause_for(settings)) is not None:
        settings.append((CAUSE_SETTING, cause))
    text = _settings_text(
        len(settings), not connection.has_temporary, not spec.read_only, spec.isolation is None
    )
    out.append(frontend_messages.run_pairs(connection.statements.prepare(text, out).head, settings))
    return before


def _append_bare(connection: PostgresConnection, out: list[bytes], text: str) -> None:
    prepared = connection.statements.prepare(text, out)
    out.append(prepared.bare)


def _begin_text(isolation: str | None) -> str:
    if isolation is None:
        return "begin"
    if isolation.lower() not in ISOLATION_LEVELS:
        raise ValueError(f"no isolation level: {isolation}")
    return f"begin isolation level {isolation.lower()}"


@lru_cache(maxsize=512)
def _settings_text(count: int, guards_temporary: bool, guards_read_only: bool, guards_isolation: bool) -> str:
    """Return the statement that applies settings: names and values are parameters, so the text depends on the count.

    Its columns are evaluated in order: first the guard, which raises an error in a session that is not clean. A default that
    the transaction itself replaces is not guarded.
    """
    conditions = ""
    if guards_temporary:
        conditions += f" when {_TEMPORARY_SCHEMA} operator(pg_catalog.<>) '0'::pg_catalog.oid then {_raise_expression(_NOT_CLEAN_TEMPORARY)}"
    if guards_read_only:
        conditions += f" when {_is_not_default('read_only')} and not pg_catalog.pg_is_in_recovery() then {_raise_expression(_NOT_CLEAN_DEFAULTS)}"
    if guards_isolation:
        conditions += f" when {_is_not_default('isolation')} then {_raise_expression(_NOT_CLEAN_DEFAULTS)}"
    return settings_text(count, f"case{conditions} end" if conditions else "")


def _is_not_default(name: str) -> str:
    present = f"pg_catalog.current_setting('transaction_{name}')"
    return f"{present} operator(pg_catalog.<>) pg_catalog.current_setting('default_transaction_{name}')"


def _raise_expression(text: str) -> str:
    """Return an expression that raises an error with a text: a cast to a number that the planner cannot evaluate in advance."""
    return f"('{text} ' operator(pg_catalog.||) {_TEMPORARY_SCHEMA}::pg_catalog.text)::pg_catalog.int4"


def _is_described(connection: PostgresConnection, spec: TransactionSpec) -> bool:
    """Return whether no statement has to be described before it runs. Hot path."""
    described = connection.statements.columns
    for statement in spec.statements:  # noqa: SIM110 - hot path: a generator costs two frames more
        if statement.binary and statement.text not in described:
            return False
    return True


async def _describe(connection: PostgresConnection, spec: TransactionSpec) -> None:
    """Describe statements with binary result columns, because Bind must name a format for each column.

    This is one more round trip when a connection first gets such a statement; the settings are sent with it, because rights
    and search path decide what the statement's names mean.
    """
    described = connection.statements.columns
    texts = [
        statement.text
        for statement in spec.statements
        if statement.binary and statement.text not in described
    ]
    if not texts:
        return
    for is_last in (False, True):
        messages, before = _describe_messages(connection, spec, texts)
        reply = await connection.exchange(messages)
        if reply.error is None or is_last or not await _was_cleaned(connection, reply, before):
            break
    if reply.error is not None:
        all_texts = [statement.text for statement in spec.statements]
        in_settings = len(reply.results) < before
        index = -1 if in_settings else all_texts.index(texts[len(reply.columns)])
        raise _with_statement_index(reply.error, index, spec)
    for text, count in zip(texts, reply.columns, strict=True):
        connection.statements.store_column_count(text, count)


def _describe_messages(
    connection: PostgresConnection, spec: TransactionSpec, texts: list[str]
) -> tuple[list[bytes], int]:
    """Return the messages that describe statements, and how many results come before theirs."""
    out: list[bytes] = []
    try:
        before = _begin_messages(connection, TransactionSpec(spec.settings, ()), out)
        for text in texts:
            out.append(frontend_messages.describe(connection.statements.prepare(text, out).name))
    except BaseException:
        connection.statements.confirm_parsed(0)
        raise
    return out, before


async def _was_cleaned(connection: PostgresConnection, reply: ExchangeReply, before: int) -> bool:
    """Clean the session if stale connection state caused the failure; return whether to send the transaction again."""
    error = reply.error
    if error is None or not _is_stale_state(reply, before):
        return False
    await roll_back_if_open(connection)
    if _is_stale_statement(error):
        connection.statements.clear()
        return connection.lost is None
    connection.has_temporary = connection.has_temporary or _NOT_CLEAN_TEMPORARY in error.message
    return (await connection.command("reset all")).error is None


def _is_stale_state(reply: ExchangeReply, before: int) -> bool:
    """Return whether the state that earlier exchanges left in the session or in our notes made an exchange fail."""
    error = reply.error
    if error is None:
        return False
    return _is_stale_statement(error) or (_NOT_CLEAN in error.message and len(reply.results) == before - 1)


def _is_stale_statement(error: DatabaseError) -> bool:
    return error.context is None and (error.code, error.routine) in STALE_STATEMENT_ERRORS


def _with_statement_index(error: DatabaseError, index: int, spec: TransactionSpec) -> DatabaseError:
    """Return the error with the index of the failed statement; None for a setting or the end of the transaction."""
    error.statement_index = index if 0 <= index < len(spec.statements) else None
    return error
