"""A `Work` on one connection: all of it in one write, and what has to follow.

    [begin]                                 only if the transaction is explicit
    reset all                               what a former caller set for the session is undone
    select <guard>, num_nulls(set_config($1, $2, true), ...)
    statement ...
    [commit | set constraints all immediate; rollback]
    Sync                                    ends the transaction if it is implicit

A decision makes it two round trips: the end follows when the rows are known.

Nothing a caller leaves in the session may reach the next one (architecture, decision 9). Session settings are undone by
`reset all`; the role is always set anew; session advisory locks are given back by the guard. What `reset all` comes too
late for makes the guard fail, so that nothing of the work is done: a default of the transaction (isolation, read only)
that was in force when it began, and temporary objects. Then the session is cleaned and the work run once more;
a session that has a temporary schema begins every work with `discard temp` from there on. What remains between callers
until the connection's life is over: sequences' `lastval()`, cursors WITH HOLD, names given by SQL's PREPARE, LISTEN
(until the first notification), and variables that procedural languages keep.
"""

from functools import lru_cache
from typing import NoReturn

from workers.database import wire
from workers.database.dialogue import STALE, conclude, leave, put
from workers.database.errors import DatabaseError
from workers.database.pipeline import Pipeline, Reply, broken_off
from workers.database.session import Decision, End, Found, Rows, Work
from workers.database.settings_text import settings_text

ISOLATION_LEVELS = frozenset({"read uncommitted", "read committed", "repeatable read", "serializable"})

_ALARM = "headwater: the session is not clean"
_TEMPORARY_ALARM = f"{_ALARM}: temporary objects"
_DEFAULTS_ALARM = f"{_ALARM}: defaults of the transaction"
_TEMPORARY_SCHEMA = "pg_catalog.pg_my_temp_schema()"


async def perform(pipeline: Pipeline, work: Work, decide: Decision | None = None) -> list[Rows]:
    """Run one transaction on a settled connection; give the rows of each statement.

    If the caller is cancelled, or an exception of `Disconnected` passes, the connection may not be settled afterwards.
    Raises: DatabaseError, Disconnected, and whatever `decide` raises; ValueError if the work contradicts itself.
    """
    is_decided = work.end is End.DECIDE or decide is not None
    if is_decided and (decide is None or work.end is not End.DECIDE):
        raise ValueError("a decision goes with End.DECIDE, and End.DECIDE with a decision")
    if decide is None:
        reply, before = await _exchange(pipeline, work)
        if not _is_well(pipeline, work, reply):
            await _refuse(pipeline, work, reply, before)
        return reply.results[before : before + len(work.statements)]
    results = await perform_open(pipeline, work)
    await conclude(pipeline, decide, results)
    return results


async def perform_open(pipeline: Pipeline, work: Work) -> list[Rows]:
    """Begin a transaction and run its first statements; it stays open (`dialogue.py` goes on). Raises: as `perform`."""
    if work.end is not End.DECIDE:
        raise ValueError("a transaction that stays open ends by a decision")
    reply, before = await _exchange(pipeline, work)
    if not _is_well(pipeline, work, reply):
        await _refuse(pipeline, work, reply, before)
    return reply.results[before : before + len(work.statements)]


async def perform_long(pipeline: Pipeline, work: Work) -> Found:
    """Run one transaction that only reads, whose last statement may end its first row in a long value.

    With a long value the transaction goes on, and the connection is in use, until that is over. Raises: as `perform`.
    """
    if work.end is not End.COMMIT or not work.read_only or not work.statements:
        raise ValueError(
            "a long value comes from a statement that only reads, of a transaction without a decision"
        )
    reply, before = await _exchange(pipeline, work, is_long=True)
    if reply.long is None and not _is_well(pipeline, work, reply):
        await _refuse(pipeline, work, reply, before)
    return reply.results[before : before + len(work.statements)], reply.long


def messages_among_others(pipeline: Pipeline, work: Work) -> tuple[list[bytes], int] | None:
    """Give the messages of a work that is sent together with others, and how many results come before its own.

    None if the connection would have to learn something for it: such a work goes alone.
    """
    statements = pipeline.statements
    if pipeline.has_temporary or work.isolation is not None or work.end is not End.COMMIT:
        return None
    if not all(statements.knows(each.text, columns=bool(each.binary)) for each in work.statements):
        return None
    messages, before = _messages(pipeline, work)
    if not statements.is_settled:
        statements.settle(0)
        return None
    return messages, before


def found_among_others(work: Work, reply: Reply, before: int) -> Found | None:
    """Give what such a work found; None if it failed for what the connection remembered, and must be done alone.

    Raises: DatabaseError.
    """
    if reply.error is not None:
        if _is_of_memory(reply, before):
            return None
        raise _placed(reply.error, len(reply.results) - before, work)
    if reply.long is None and (reply.status != wire.IDLE or reply.tag == b"ROLLBACK"):
        raise broken_off()
    return reply.results[before : before + len(work.statements)], reply.long


def _is_well(pipeline: Pipeline, work: Work, reply: Reply) -> bool:
    """Tell whether the transaction is where its work wanted it."""
    if work.end is End.COMMIT:
        return reply.error is None and pipeline.status == wire.IDLE and reply.tag != b"ROLLBACK"
    expected = wire.IN_TRANSACTION if work.end is End.DECIDE else wire.IDLE
    return reply.error is None and pipeline.status == expected


async def _refuse(pipeline: Pipeline, work: Work, reply: Reply, before: int) -> NoReturn:
    """End what is open and say why the work was not done. Raises: DatabaseError."""
    await leave(pipeline)
    if reply.error is not None:
        raise _placed(reply.error, len(reply.results) - before, work)
    raise broken_off()


async def _exchange(pipeline: Pipeline, work: Work, *, is_long: bool = False) -> tuple[Reply, int]:
    """Send the work and give the answer, with the number of results before the statements' own.

    If it failed for what the connection remembered, nothing was done: it is sent once more.
    """
    for is_last in (False, True):
        await _describe(pipeline, work)
        messages, before = _messages(pipeline, work)
        separator = work.statements[-1].separator if work.statements else None
        is_special = is_long or separator is not None
        last = before + len(work.statements) - 1 if is_special else -1
        reply = await pipeline.exchange(messages, last, separator)
        if reply.error is None or is_last or not await _is_mended(pipeline, reply, before):
            break
    return reply, before


def _messages(pipeline: Pipeline, work: Work) -> tuple[list[bytes], int]:
    """Give the messages of a work and how many results come before those of its statements."""
    out: list[bytes] = []
    try:
        before = _open(pipeline, work, out)
        for statement in work.statements:
            put(pipeline, statement, out)
        if work.end is End.ROLLBACK:
            _add(pipeline, out, "set constraints all immediate")
            _add(pipeline, out, "rollback")
        elif work.end is End.COMMIT and work.isolation is not None:
            _add(pipeline, out, "commit")
    except BaseException:
        pipeline.statements.settle(0)
        raise
    return out, before


def _open(pipeline: Pipeline, work: Work, out: list[bytes]) -> int:
    """Begin: put the messages that stand before the statements; give how many results they bring."""
    before = 2
    if work.isolation is not None or work.end is not End.COMMIT:
        _add(pipeline, out, _begin(work.isolation))
        before += 1
    if pipeline.has_temporary:
        _add(pipeline, out, "discard temp")
        before += 1
    _add(pipeline, out, "reset all")
    settings = [*work.settings]
    if not any(name == "role" for name, _ in settings):
        settings.insert(0, ("role", "none"))
    if work.read_only:
        settings.append(("transaction_read_only", "on"))
    text = _settings_text(len(settings), not pipeline.has_temporary, work.isolation is None)
    out.append(wire.run_pairs(pipeline.statements.find(text, out).head, settings))
    return before


def _add(pipeline: Pipeline, out: list[bytes], text: str) -> None:
    prepared = pipeline.statements.find(text, out)
    out.append(prepared.bare)


def _begin(isolation: str | None) -> str:
    if isolation is None:
        return "begin"
    if isolation.lower() not in ISOLATION_LEVELS:
        raise ValueError(f"no isolation level: {isolation}")
    return f"begin isolation level {isolation.lower()}"


@lru_cache(maxsize=512)
def _settings_text(count: int, guards_temporary: bool, guards_isolation: bool) -> str:
    """Give the statement that applies settings: names and values are parameters, so the text depends on the count.

    Its columns are evaluated in order: first the guard, which fails in a session that is not clean.
    """
    alarms = ""
    if guards_temporary:
        alarms += f" when {_TEMPORARY_SCHEMA} operator(pg_catalog.<>) '0'::pg_catalog.oid then {_alarm(_TEMPORARY_ALARM)}"
    alarms += f" when {_is_not_default('read_only')} and not pg_catalog.pg_is_in_recovery() then {_alarm(_DEFAULTS_ALARM)}"
    if guards_isolation:
        alarms += f" when {_is_not_default('isolation')} then {_alarm(_DEFAULTS_ALARM)}"
    return settings_text(count, f"case{alarms} end")


def _is_not_default(name: str) -> str:
    present = f"pg_catalog.current_setting('transaction_{name}')"
    return f"{present} operator(pg_catalog.<>) pg_catalog.current_setting('default_transaction_{name}')"


def _alarm(text: str) -> str:
    """Give an expression that fails with a text: it is no number, and not known before it is evaluated."""
    return f"('{text} ' operator(pg_catalog.||) {_TEMPORARY_SCHEMA}::pg_catalog.text)::pg_catalog.int4"


async def _describe(pipeline: Pipeline, work: Work) -> None:
    """Learn the number of result columns of the statements with binary ones: Bind must name a format for each.

    One more round trip, when a connection sees such a statement first; with the settings, which give rights and names.
    """
    known = pipeline.statements.columns
    asked = [each.text for each in work.statements if each.binary and each.text not in known]
    if not asked:
        return
    for is_last in (False, True):
        messages, before = _questions(pipeline, work, asked)
        reply = await pipeline.exchange(messages)
        if reply.error is None or is_last or not await _is_mended(pipeline, reply, before):
            break
    if reply.error is not None:
        texts = [each.text for each in work.statements]
        in_settings = len(reply.results) < before
        raise _placed(reply.error, -1 if in_settings else texts.index(asked[len(reply.columns)]), work)
    for text, count in zip(asked, reply.columns, strict=True):
        pipeline.statements.learn_columns(text, count)


def _questions(pipeline: Pipeline, work: Work, texts: list[str]) -> tuple[list[bytes], int]:
    """Give the messages that describe statements, and how many results come before."""
    out: list[bytes] = []
    try:
        before = _open(pipeline, Work(work.settings, ()), out)
        for text in texts:
            out.append(wire.describe(pipeline.statements.find(text, out).name))
    except BaseException:
        pipeline.statements.settle(0)
        raise
    return out, before


async def _is_mended(pipeline: Pipeline, reply: Reply, before: int) -> bool:
    """Clean the connection if the failure came of what it remembered; then nothing of the work was done."""
    error = reply.error
    if error is None or not _is_of_memory(reply, before):
        return False
    await leave(pipeline)
    if _is_stale(error):
        pipeline.statements.clear()
        return pipeline.lost is None
    pipeline.has_temporary = pipeline.has_temporary or _TEMPORARY_ALARM in error.message
    return (await pipeline.command("reset all")).error is None


def _is_of_memory(reply: Reply, before: int) -> bool:
    """Tell whether an exchange failed for what the connection remembered of former ones."""
    error = reply.error
    if error is None:
        return False
    return _is_stale(error) or (_ALARM in error.message and len(reply.results) == before - 1)


def _is_stale(error: DatabaseError) -> bool:
    return error.context is None and (error.code, error.routine) in STALE


def _placed(error: DatabaseError, index: int, work: Work) -> DatabaseError:
    """Give the error with the statement that failed; outside of their range it was a setting or the end."""
    error.statement_index = index if 0 <= index < len(work.statements) else None
    return error
