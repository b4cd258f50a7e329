"""Turn observations into log lines and metrics; the only module that formats them.

`configure` is called once by each process; before that, structlog's own defaults apply. `observe` is cheap on the hot
path: an answered request costs two additions (about 1 us), and its line is written only at level `debug` or for a
status of 500 and more. Log lines of libraries (the standard `logging`) are written in the same form.

A repeated line of level `warning` or `error` is counted instead of written (`broker/observability/repeats.py`). The
next written line of its kind has the count as `repeated` and the ids of the first requests as `ids`. Lines are of one
kind if they differ in ids and times only.

The store of log lines (`broker/logs`) gets the same lines, and those of observations that are `is_stored` at every level. Repeated
lines with a request id go there one by one: they are searched by it.

Metrics are stored as plain numbers and turned into the Prometheus text on request (`exposition`).
"""

import asyncio
import bisect
import contextlib
import logging
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from broker.observability.figures import BUCKETS_S, AnswerTimes, ObservedFigures
from broker.observability.log_buffer import LogBuffer, answer_record
from broker.observability.observations import (
    ConnectionRefused,
    ProcessEnded,
    RequestAnswered,
    RequestFailed,
    RequestRefused,
)
from broker.observability.repeats import RepeatCounter
from broker.observability.structlog_library import structlog

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_LONGEST_KEY = 300
_IDS = ("id", "request", "request_id")
_NOT_OF_KIND = frozenset({*_IDS, "traceback", "member", "count"})
_FAILED = "A request failed"
_Line = tuple[str, str, dict[str, object]]
"""Level, text and fields."""


class _LogState:
    """How this process logs."""

    def __init__(self) -> None:
        self.level = LEVELS["info"]
        self.process = ""
        self.lines: LogBuffer | None = None
        self.repeats: RepeatCounter[_Line] = RepeatCounter()
        self.counting: asyncio.TimerHandle | None = None


_STATE = _LogState()
_FIGURES = ObservedFigures()


def configure(level: str = "info", format: str = "auto", process: str = "") -> None:
    """Choose the level (debug, info, warning, error), the form (json, console, auto) and the name of this process."""
    _STATE.level = LEVELS[level]
    _STATE.process = process
    _STATE.repeats, _STATE.counting = RepeatCounter(), None
    console = format == "console" or (format == "auto" and sys.stderr.isatty())
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if console
        else structlog.processors.JSONRenderer(serializer=_json)
    )
    structlog.configure(
        processors=[_add_time, _add_process, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(_STATE.level),
        logger_factory=_stderr_logger,  # of the moment: a test replaces the stream and closes it
        cache_logger_on_first_use=False,  # tests and the command line configure again
    )
    libraries = logging.getLogger()
    for ours in [handler for handler in libraries.handlers if isinstance(handler, _Libraries)]:
        libraries.removeHandler(ours)
    libraries.addHandler(_Libraries())
    libraries.setLevel(max(_STATE.level, LEVELS["warning"]))


def _stderr_logger(*_: object) -> structlog.WriteLogger:
    return structlog.WriteLogger(sys.stderr)


def observe(observation: Struct) -> None:
    """Count an observation, and write its log line if its level is enabled."""
    lines = _STATE.lines
    if type(observation) is RequestAnswered:
        _count_answer(observation)
        if lines is not None and _leaves_line(lines, observation):
            lines.add(answer_record(lines.process, observation))
        if observation.status < 500 and _STATE.level > LEVELS["debug"]:
            return
        level = "error" if observation.status == 500 else "warning" if observation.status > 500 else "debug"
    else:
        _count(observation)
        level = getattr(observation, "level", "info")
        if LEVELS[level] < _STATE.level:
            if lines is not None and getattr(observation, "is_stored", False):
                lines.add_line(level, _text(type(observation)), _fields(observation))
            return
    text = _FAILED if level != "debug" and type(observation) is RequestAnswered else _text(type(observation))
    if type(observation) is ProcessEnded:
        _write_counts(is_end=True)
    _write_or_count(level, text, _fields(observation))


def store_lines(buffer: LogBuffer | None) -> None:
    """Add the lines of this process to a buffer from now on, for the store; None: to none."""
    _STATE.lines = buffer


def log_buffer() -> LogBuffer | None:
    """Return the buffer of lines for the store; None if they are not stored."""
    return _STATE.lines


def observe_wait(pool: str, seconds: float) -> None:
    """Count a request that waited for its handler. Requests that did not wait are not counted."""
    _add(_FIGURES.waits, pool, seconds)


def observe_connection_wait(login: str, seconds: float) -> None:
    """Count a request that waited for a database connection. Requests that did not wait are not counted."""
    _add(_FIGURES.connection_waits, login, seconds)


def gauge(name: str, help: str, read: Callable[[], float], **labels: str) -> Callable[[], None]:
    """Add a number of this process to its metrics, by its full name (`headwater_...`); return the function that removes it."""
    key = (name, tuple(sorted(labels.items())))
    _FIGURES.gauges[key] = (help, read)

    def remove() -> None:
        if _FIGURES.gauges.get(key, (None, None))[1] is read:
            del _FIGURES.gauges[key]

    return remove


def exposition() -> bytes:
    """Return the metrics of this process as Prometheus text."""
    from broker.observability.exposition import (
        prometheus_text,
    )  # its library takes 2 MB: where metrics are read

    return prometheus_text(_FIGURES)


def process_name() -> str:
    """Return the name that `configure` was called with."""
    return _STATE.process


def member_name() -> str:
    """Return host and process id, which distinguish processes of the same name."""
    return f"{platform.node()}:{os.getpid()}"


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an exception as text for a log line, without local values."""
    return "".join(traceback.format_exception(error))


def watch_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Write exceptions of the event loop that were not awaited as log lines."""

    def log(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        detail = {"traceback": traceback_of(error)} if isinstance(error, BaseException) else {}
        structlog.get_logger().error(str(context.get("message", "")), kind="LoopComplained", **detail)

    loop.set_exception_handler(log)


def _count_answer(observation: RequestAnswered) -> None:
    key = (observation.pool, observation.status)
    _FIGURES.answered[key] = _FIGURES.answered.get(key, 0) + 1
    _add(_FIGURES.durations, observation.pool, observation.duration_s)


def _add(every: dict[str, AnswerTimes], name: str, seconds: float) -> None:
    series = every.get(name)
    if series is None:
        series = every[name] = AnswerTimes()
    series.counts[bisect.bisect_left(BUCKETS_S, seconds)] += 1
    series.sum += seconds


def _count(observation: Struct) -> None:
    name = type(observation).__name__
    _FIGURES.others[name] = _FIGURES.others.get(name, 0) + 1
    if type(observation) is RequestFailed:
        key = (observation.pool, observation.reason)
        _FIGURES.failed[key] = _FIGURES.failed.get(key, 0) + 1
    elif type(observation) is RequestRefused:
        key = (observation.pool, observation.reason)
        _FIGURES.refused[key] = _FIGURES.refused.get(key, 0) + 1
    elif type(observation) is ConnectionRefused:
        key = (observation.login, observation.reason)
        _FIGURES.no_connection[key] = _FIGURES.no_connection.get(key, 0) + 1


def _leaves_line(lines: LogBuffer, observation: RequestAnswered) -> bool:
    is_request = not observation.pool.startswith("health.")
    return is_request and lines.leaves_lines(
        observation.status, observation.duration_s, is_sampled=observation.is_sampled
    )


def _fields(observation: Struct) -> dict[str, object]:
    fields = {name: getattr(observation, name) for name in observation.__struct_fields__}
    return {"kind": type(observation).__name__, **fields}


def _write_or_count(level: str, text: str, fields: dict[str, object]) -> None:
    """Write a line, or count it if one of its kind was written recently."""
    if LEVELS[level] >= LEVELS["warning"]:
        key = tuple(
            str(value)[:_LONGEST_KEY]
            for name, value in fields.items()
            if name not in _NOT_OF_KIND and not isinstance(value, float)
        )
        id = next((str(fields[name]) for name in _IDS if fields.get(name)), "")
        _write_counts()
        if not _STATE.repeats.admit((text, key), (level, text, fields), time.monotonic(), id):
            if id:
                _store(level, text, fields)
            _count_later()
            return
    _store(level, text, fields)
    _write(level, text, fields)


def _store(level: str, text: str, fields: dict[str, object]) -> None:
    """Add a line to the buffer of the store. That of an answered request is there already."""
    if _STATE.lines is not None and fields.get("kind") != RequestAnswered.__name__:
        _STATE.lines.add_line(level, text, fields)


def _write(level: str, text: str, fields: dict[str, object]) -> None:
    getattr(structlog.get_logger(), level)(text, **fields)


def _write_counts(*, is_end: bool = False) -> None:
    """Write a line for each kind whose count is due."""
    for repeated in _STATE.repeats.due(time.monotonic(), is_end=is_end):
        level, text, fields = repeated.line
        counts = {"repeated": repeated.count, **({"ids": repeated.ids} if repeated.ids else {})}
        if not repeated.ids:
            _store(level, text, fields | counts)
        _write(level, text, fields | counts)


def reset_repeats() -> None:
    """Forget all counted lines, for tests."""
    _STATE.repeats = RepeatCounter()


def _count_later() -> None:
    """Schedule the writing of counts for when the first is due; without an event loop the next line writes them."""
    at = _STATE.repeats.next_at()
    if at is None or (_STATE.counting is not None and not _STATE.counting.cancelled()):
        return
    with contextlib.suppress(RuntimeError):
        loop = asyncio.get_running_loop()
        _STATE.counting = loop.call_later(max(0.0, at - time.monotonic()), _count_now)


def _count_now() -> None:
    _STATE.counting = None
    _write_counts()
    _count_later()


def _text(kind: type[Struct]) -> str:
    return (kind.__doc__ or kind.__name__).partition("\n")[0].rstrip(".")


def _add_time(_: object, __: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **line}


def _add_process(_: object, level: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    line["level"] = level
    if _STATE.process:
        line["process"] = _STATE.process
    return line


def _json(line: object, **_: object) -> str:
    return msgspec.json.encode(line, enc_hook=str).decode()


class _Libraries(logging.Handler):
    """Writes the log records of libraries in the platform's form."""

    def emit(self, record: logging.LogRecord) -> None:
        level = next((name for name, number in reversed(LEVELS.items()) if record.levelno >= number), "debug")
        detail = (
            {"traceback": traceback_of(record.exc_info[1])} if record.exc_info and record.exc_info[1] else {}
        )
        _write_or_count(level, record.getMessage(), {"kind": record.name, **detail})
