"""The work on one run that was taken: call its function until nothing can go on at this moment, and write what it reports.

    call --> reports, written as they come --> continue: call again with the steps that are stored now
                                           --> suspend, finish, fail: written, and the run is no longer ours

Whatever fails is written about the attempt that this task has. Where the meaning of a report is `gone`, another runner has the run, or it
was cancelled: nothing more is written.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from enum import Enum

import msgspec

from broker.backoff import Backoff
from broker.requests.call import PoolReply
from schemas.errors import ApiError, OutcomeUnknown, Unavailable
from schemas.functions.errors import PROCESS_ENDED
from schemas.http import header
from workers.database.errors import DatabaseError
from workers.database.passing_errors import is_passing
from workers.http_client.retry_after import requested_pause_s
from workers.scheduler.durable_jobs.report_writer import ReportWriter
from workers.scheduler.durable_jobs.reports import (
    ANSWER_LIMIT,
    ENDINGS,
    LINE_LIMIT,
    InvalidReport,
    RunReport,
    TakenRun,
    call_body,
    finished_step,
    parse_report,
    stored_steps,
)

OpenCall = Callable[[str, bytes], Awaitable[PoolReply]]
"""Calls a function by its name with a body. Raises: ApiError."""
_AWAY_S = 2.0
"""Pause after a call that reached no worker of functions."""
_GONE = "gone"
_SUSPEND, _SUSPEND_NOW = b'{"op":"suspend"}', b'{"op":"suspend","after_s":0}'
_FIRST_RETRY_S, _LAST_RETRY_S = 0.2, 5.0
"""Pauses before a report that could not be written is put again."""


class RunEnding(Enum):
    """Why the work on a run has ended."""

    WRITTEN = "written"
    FAILED = "failed"
    GONE = "gone"
    AWAY = "away"
    """No worker of functions took the call."""


class _CallFailed(Exception):
    """A call that brought no ending; the text says why, `after_s` when to try again at the earliest."""

    def __init__(self, reason: str, *, after_s: float | None = None, is_final: bool = False) -> None:
        super().__init__(reason)
        self.after_s, self.is_final = after_s, is_final


class RunCalls:
    """Works on a run by `work`; `steps` counts those stored, `size` their bytes and the input's, `error` is the last failure."""

    def __init__(self, run: TakenRun, call: OpenCall, writer: ReportWriter) -> None:
        self.run, self._call, self._writer = run, call, writer
        self._stored = stored_steps(run)
        self.size = len(run.steps) + len(run.input)
        self.steps = 0
        self.error = ""
        self.is_stopping = False

    async def work(self) -> RunEnding:
        """Call until the run has to wait or has ended. When this is cancelled, the run is given back."""
        try:
            while True:
                ending = await self._step_on()
                if ending is not None:
                    return ending
        except asyncio.CancelledError:
            self._writer.put(
                self.run.id, self.run.attempt, b'{"op":"return"}'
            )  # else the next leader takes it
            raise

    async def _step_on(self) -> RunEnding | None:
        try:
            return await self._one_call()
        except Unavailable:
            await self._store(op="return", after_s=_AWAY_S)
            return RunEnding.AWAY
        except OutcomeUnknown as error:
            failure = _CallFailed(str(error))
        except ApiError as error:
            failure = _CallFailed(str(error))
        except InvalidReport as error:
            failure = _CallFailed(str(error))
        except DatabaseError as error:  # what it reports cannot be stored, and could not be the next time
            failure = _CallFailed(error.message, is_final=True)
        except _CallFailed as error:
            failure = error
        self.error = str(failure)
        more = {} if failure.after_s is None else {"after_s": failure.after_s}
        is_gone = await self._store(op="fail", error=self.error, is_final=failure.is_final, **more)
        return RunEnding.GONE if is_gone else RunEnding.FAILED

    async def _one_call(self) -> RunEnding | None:
        """Call once and write its reports; return None if steps were finished and it may go on at once."""
        answer = await self._call(self.run.job, call_body(self.run, self._stored))
        written: list[tuple[bytes, asyncio.Future[str]]] = []
        reports: list[RunReport] = []
        ending: tuple[RunReport, bytes] | None = None
        failure: ApiError | InvalidReport | _CallFailed | None = None
        try:
            _check(answer)
            async with aclosing(_lines(answer)) as lines:
                async for line in lines:
                    await self._writer.has_room()
                    report = parse_report(line)
                    if report.op in ENDINGS:
                        ending = report, line
                        break
                    reports.append(report)
                    written.append((line, self._writer.put(self.run.id, self.run.attempt, line)))
        except (ApiError, InvalidReport, _CallFailed) as error:
            failure = error  # what was reported before it is stored first
        finally:
            await answer.close()
        if await self._stored_all(written):
            return RunEnding.GONE
        self._note(reports)
        if failure is not None:
            raise failure
        if ending is None:
            raise _CallFailed("its answer was cut off")
        last, line = ending
        is_whole = all(report.op == "step" for report in reports)
        if last.op == "continue" and is_whole and not self.is_stopping:
            return None
        if last.op in ("continue", "suspend"):
            line = _SUSPEND_NOW if last.op == "continue" else _SUSPEND
        if await self._stored_all([(line, self._writer.put(self.run.id, self.run.attempt, line))]):
            return RunEnding.GONE
        self.error = last.error
        return RunEnding.FAILED if last.op == "fail" else RunEnding.WRITTEN

    async def _stored_all(self, written: list[tuple[bytes, "asyncio.Future[str]"]]) -> bool:
        """Wait until reports are stored, and return whether the run is gone. What may be written later is put again.

        Raises: DatabaseError for a report that cannot be stored.
        """
        backoff = Backoff(_FIRST_RETRY_S, _LAST_RETRY_S)
        while written:
            outcomes = await asyncio.gather(*(future for _, future in written), return_exceptions=True)
            if _GONE in outcomes:
                return True
            for outcome in outcomes:
                if isinstance(outcome, BaseException) and not (
                    isinstance(outcome, DatabaseError) and is_passing(outcome)
                ):
                    raise outcome
            left = [
                line
                for (line, _), outcome in zip(written, outcomes, strict=True)
                if isinstance(outcome, DatabaseError)
            ]
            if left:
                await backoff.wait()
            written = [(line, self._writer.put(self.run.id, self.run.attempt, line)) for line in left]
        return False

    async def _store(self, **report: object) -> bool:
        """Write a report of our own, and return whether the run is gone."""
        line = msgspec.json.encode(report)
        return await self._stored_all([(line, self._writer.put(self.run.id, self.run.attempt, line))])

    def _note(self, reports: list[RunReport]) -> None:
        for report in reports:
            if report.op == "step":
                self.steps += 1
                self._stored[report.name] = finished_step(report)
                self.size += len(bytes(report.result))


def _check(answer: PoolReply) -> None:
    """Raise _CallFailed unless a function answered with success."""
    response = answer.response
    if PROCESS_ENDED in response.headers:
        raise _CallFailed("its process ended")
    if not 200 <= response.status < 300:
        pause_s = requested_pause_s(response.status, header(response.headers, "retry-after") or "")
        raise _CallFailed(f"it answered with status {response.status}", after_s=pause_s or None)


async def _lines(answer: PoolReply) -> AsyncGenerator[bytes]:
    """Yield the lines of an answer that are not blank. Raises: _CallFailed beyond the limits."""
    rest = bytearray(answer.response.body)
    size = len(rest)
    for line in _take_lines(rest):
        yield line
    if answer.chunks is not None:
        async for chunk in answer.chunks:
            rest += chunk
            size += len(chunk)
            if len(rest) > LINE_LIMIT + len(chunk) or size > ANSWER_LIMIT:
                raise _CallFailed("its reports are too long: a result has 1 MiB at most", is_final=True)
            for line in _take_lines(rest):
                yield line
    if rest.strip():
        yield bytes(rest)


def _take_lines(rest: bytearray) -> list[bytes]:
    """Remove the whole lines from the beginning of `rest` and return them."""
    whole = rest.rfind(b"\n") + 1
    lines = [line for line in bytes(rest[:whole]).split(b"\n") if line.strip()]
    del rest[:whole]
    return lines
