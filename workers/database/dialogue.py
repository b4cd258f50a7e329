"""A dialogue in an open transaction: what a decision wants done next, and how the transaction ends.

A `Decision` looks at results and answers with more statements, or with whether to keep the work. Each round is one write;
the settings of the transaction hold for all of them."""

from collections.abc import Sequence
from contextlib import suppress

from workers.database import wire
from workers.database.errors import DatabaseError, Disconnected
from workers.database.pipeline import Pipeline, Reply, broken_off
from workers.database.session import Decision, Rows, Statement

_ROLLBACK_WITH_CHECKS = "set constraints all immediate; rollback"

STALE = frozenset({
    ("26000", "FetchPreparedStatement"),  # a statement was deallocated by SQL
    ("42P05", "StorePreparedStatement"),  # SQL took our name
    ("0A000", "RevalidateCachedQuery"),  # DDL changed the columns of a bare `select *`
    ("08P01", "PortalSetResultFormat"),  # the same, with columns wanted in binary
})  # fmt: skip
"""Errors of a prepared statement that is not what we took it for: SQLSTATE and the routine that raised."""


async def conclude(pipeline: Pipeline, decide: Decision, results: list[Rows]) -> None:
    """Ask what to do next and whether to keep the work, and end the transaction so.

    Whatever `decide` raises passes, after a rollback.
    """
    try:
        is_kept = decide(results)
        while not isinstance(is_kept, bool):
            is_kept = decide(await go_on(pipeline, is_kept))
    except BaseException:
        await leave(pipeline)
        raise
    reply = await pipeline.command("commit" if is_kept else _ROLLBACK_WITH_CHECKS)
    if reply.error is not None:
        await leave(pipeline)
        raise reply.error
    if is_kept and reply.tag != b"COMMIT":
        raise broken_off()


async def go_on(pipeline: Pipeline, statements: Sequence[Statement]) -> list[Rows]:
    """Run more statements in the open transaction. Raises: DatabaseError, Disconnected."""
    known = pipeline.statements.columns
    asked = [each.text for each in statements if each.binary and each.text not in known]
    if asked:
        described = await _in_transaction(pipeline, _descriptions(pipeline, asked))
        for text, count in zip(asked, described.columns, strict=True):
            pipeline.statements.learn_columns(text, count)
    out: list[bytes] = []
    try:
        for statement in statements:
            put(pipeline, statement, out)
    except BaseException:
        pipeline.statements.settle(0)
        raise
    return (await _in_transaction(pipeline, out)).results


async def _in_transaction(pipeline: Pipeline, messages: list[bytes]) -> Reply:
    reply = await pipeline.exchange(messages)
    if reply.error is not None:
        if (reply.error.code, reply.error.routine) in STALE:
            pipeline.statements.clear()
        raise reply.error
    if pipeline.status != wire.IN_TRANSACTION:
        raise broken_off()
    return reply


def _descriptions(pipeline: Pipeline, texts: list[str]) -> list[bytes]:
    out: list[bytes] = []
    for text in texts:
        out.append(wire.describe(pipeline.statements.find(text, out).name))
    return out


async def leave(pipeline: Pipeline) -> None:
    """End the transaction that is open, if one is. A connection that breaks meanwhile has ended it too."""
    if pipeline.status != wire.IDLE:
        with suppress(Disconnected, DatabaseError):
            await pipeline.command("rollback")


def put(pipeline: Pipeline, statement: Statement, out: list[bytes]) -> None:
    """Put the messages that run a statement."""
    head = pipeline.statements.find(statement.text, out).head
    if statement.binary:
        columns = pipeline.statements.columns[statement.text]
        out.append(wire.run(head, statement.params, wire.result_formats(columns, statement.binary)))
    else:
        out.append(wire.run(head, statement.params))
