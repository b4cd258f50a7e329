"""What a run's function is sent and what it answers (pure). The other half is workers/functions/shims/jobs.ts.

    request: {"run": {"id", "job", "attempt", "key", "created_at", "input"}, "steps": {name: {"kind", "status", "result", ...}}}
    answer:  a line of JSON for each report about a step, {"op", "name", ...}; the last line ends the call:
             continue (steps were finished: call again), suspend (only time or an event goes on), finish, fail

Lines are written by the functions of a project: only the ops below are passed on, and the database checks the rest.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct

LINE_LIMIT = 2 * 1024 * 1024
"""Bytes of a line; a result of 1 MiB may be longer where it is escaped."""
ANSWER_LIMIT = 24 * 1024 * 1024
"""Bytes of an answer."""

StepOp = Literal["step", "retry", "sleep", "wait", "send", "start", "run"]
EndingOp = Literal["continue", "suspend", "finish", "fail"]
ENDINGS = frozenset({"continue", "suspend", "finish", "fail"})
_NULL = Raw(b"null")


class InvalidReport(ValueError):
    """The answer of a function is none of `headwater:jobs`; the text says why."""


class TakenRun(NamedTuple):
    """A run under a lease; `input` and `steps` are JSON, `attempt` is written with everything about it."""

    job: str
    id: str
    attempt: int
    input: str
    key: str | None
    created_at: datetime
    steps: str


class RunReport(Struct, frozen=True):
    """A line of an answer."""

    op: StepOp | EndingOp
    name: str = ""
    result: Raw = _NULL
    error: str = ""


class _Run(Struct, frozen=True):
    id: str
    job: str
    attempt: int
    key: str | None
    created_at: datetime
    input: Raw


class _FinishedStep(Struct, frozen=True):
    result: Raw
    kind: str = "step"
    status: str = "done"


def stored_steps(run: TakenRun) -> dict[str, Raw]:
    """Return what was stored of a run's steps when it was taken, by name."""
    return msgspec.json.decode(run.steps, type=dict[str, Raw])


def finished_step(report: RunReport) -> Raw:
    """Return the entry of a step that has just been stored."""
    return Raw(msgspec.json.encode(_FinishedStep(report.result)))


def call_body(run: TakenRun, steps: Mapping[str, Raw]) -> bytes:
    """Return the body of a call."""
    described = _Run(run.id, run.job, run.attempt, run.key, run.created_at, Raw(run.input.encode()))
    return msgspec.json.encode({"run": described, "steps": steps})


def parse_report(line: bytes) -> RunReport:
    """Read a line of an answer. Raises: InvalidReport."""
    try:
        return _decode(line.decode())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InvalidReport(
            "it answered without the reports of headwater:jobs: is it `Deno.serve(job(...))`?"
        ) from None


_decode = msgspec.json.Decoder(RunReport).decode
"""Reads a text, not bytes: the members that it skips are then valid UTF-8 as well."""
