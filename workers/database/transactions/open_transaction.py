"""Continues an open transaction: more statements, then commit or rollback.

A `CommitDecision` looks at results and returns more statements, or whether to commit. Each round is one write; the
settings of the transaction apply to all of them.
"""

from collections.abc import Sequence
from contextlib import suppress

from workers.database.errors import DatabaseError, Disconnected
from workers.database.protocol import frontend_messages
from workers.database.protocol.backend_reader import IDLE, IN_TRANSACTION
from workers.database.protocol.exchange import ExchangeReply, transaction_changed
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import CommitDecision, Statement

_COMMIT = Statement("commit")
_ROLLBACK_WITH_CHECKS = "set constraints all immediate; rollback"

STALE_STATEMENT_ERRORS = frozenset({
    ("26000", "FetchPreparedStatement"),  # a statement was deallocated by SQL
    ("42P05", "StorePreparedStatement"),  # SQL's PREPARE used our name
    ("0A000", "RevalidateCachedQuery"),  # DDL changed the columns of a bare `select *`
    ("08P01", "PortalSetResultFormat"),  # the same, with binary result columns
})  # fmt: skip
"""Errors of a prepared statement that is not what we expected: SQLSTATE and the server routine that raised it."""


async def finish_by_decision(
    connection: PostgresConnection, decide: CommitDecision, results: list[Rows]
) -> None:
    """Call `decide` until it returns whether to commit, run the statements it returns, and end the transaction.

    Whatever `decide` raises is raised, after a rollback. Raises: DatabaseError, Disconnected.
    """
    try:
        decision = decide(results)
        while not isinstance(decision, bool):
            decision = decide(await run_more(connection, decision))
    except BaseException:
        await roll_back_if_open(connection)
        raise
    reply = await connection.command("commit" if decision else _ROLLBACK_WITH_CHECKS)
    if reply.error is not None:
        await roll_back_if_open(connection)
        raise reply.error
    if decision and reply.tag != b"COMMIT":
        raise transaction_changed()


async def run_more(
    connection: PostgresConnection, statements: Sequence[Statement], *, commits: bool = False
) -> list[Rows]:
    """Run more statements in the open transaction, and with `commits` end it in the same write.

    Raises: DatabaseError, Disconnected.
    """
    described = connection.statements.columns
    texts = [
        statement.text for statement in statements if statement.binary and statement.text not in described
    ]
    if texts:
        reply = await _exchange_in_transaction(connection, _describe_messages(connection, texts))
        for text, count in zip(texts, reply.columns, strict=True):
            connection.statements.store_column_count(text, count)
    out: list[bytes] = []
    try:
        for statement in statements:
            append_messages(connection, statement, out)
        if commits:
            append_messages(connection, _COMMIT, out)
    except BaseException:
        connection.statements.confirm_parsed(0)  # nothing was sent, so no Parse can succeed
        raise
    return (await _exchange_in_transaction(connection, out, commits=commits)).results[: len(statements)]


async def _exchange_in_transaction(
    connection: PostgresConnection, messages: list[bytes], *, commits: bool = False
) -> ExchangeReply:
    reply = await connection.exchange(messages)
    if reply.error is not None:
        if (reply.error.code, reply.error.routine) in STALE_STATEMENT_ERRORS:
            connection.statements.clear()
        raise reply.error
    is_ended = connection.status == IDLE and reply.tag == b"COMMIT"
    if not is_ended if commits else connection.status != IN_TRANSACTION:
        raise transaction_changed()
    return reply


def _describe_messages(connection: PostgresConnection, texts: list[str]) -> list[bytes]:
    out: list[bytes] = []
    for text in texts:
        out.append(frontend_messages.describe(connection.statements.prepare(text, out).name))
    return out


async def roll_back_if_open(connection: PostgresConnection) -> None:
    """Roll back the transaction if one is open. A connection that breaks meanwhile has rolled it back as well."""
    if connection.status != IDLE:
        with suppress(Disconnected, DatabaseError):
            await connection.command("rollback")


def append_messages(connection: PostgresConnection, statement: Statement, out: list[bytes]) -> None:
    """Append the messages that run a statement. Raises: DatabaseError for parameters that Postgres cannot store."""
    head = connection.statements.prepare(statement.text, out).head
    if statement.binary:
        columns = connection.statements.columns[statement.text]
        formats = frontend_messages.result_formats(columns, statement.binary)
        out.append(frontend_messages.run(head, statement.params, formats))
    else:
        out.append(frontend_messages.run(head, statement.params))
