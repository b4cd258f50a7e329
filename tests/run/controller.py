"""The process that collected the tests: it forks the others, hands out groups and reports what they send.

Reports pass pytest's own hooks here, so everything that listens to them works as in a run of one process: the terminal,
`--last-failed`, `--maxfail`, `--durations`, `--junitxml`. A process that dies is a failure of the test that it ran; another one
takes the rest of its group.
"""

import json
import os
import selectors
import signal
import socket
import threading
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.run.fork_child import run_child
from tests.run.groups import group_name, grouped, record

_SECONDS = "tests/seconds-of-groups"
"""Key of pytest's cache: what each group took in the last run."""


@dataclass(eq=False)
class _Child:
    """A fork, what it was handed out and has not begun, and the test that it runs."""

    pid: int
    control: socket.socket
    received: bytes = b""
    waiting: deque[int] = field(default_factory=deque)
    running: int | None = None
    is_finished: bool = False


class ForkedRun:
    """Runs the collected tests in forks of this process."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._selector = selectors.DefaultSelector()
        self._groups: deque[list[int]] = deque()
        self._started = 0
        self._seconds: dict[str, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run all tests; None leaves them to pytest."""
        config = session.config
        if config.option.collectonly or config.option.usepdb or not session.items:
            return None
        if session.testsfailed and not config.option.continue_on_collection_errors:
            return None
        self._groups.extend(grouped(session.items, _stored(config)))
        if _threads() > 1:
            raise pytest.UsageError(
                "a test module starts threads while it is collected, which a fork would lose"
            )
        config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # its children make theirs in it
        config.pluginmanager.get_plugin("capturemanager").stop_global_capturing()  # each child has its own
        try:
            for _ in range(min(self._processes, len(self._groups))):
                self._fork(session)
            while self._selector.get_map():
                for key, _ in self._selector.select():
                    self._receive(session, key.data)
        finally:
            self._end()
        if (cache := getattr(config, "cache", None)) is not None:
            cache.set(_SECONDS, _stored(config) | self._seconds)
        if config.option.record_seconds:
            record(self._seconds)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        return True

    def _fork(self, session: pytest.Session) -> None:
        """Start another process."""
        here, there = socket.socketpair()
        number = self._started
        self._started += 1
        pid = os.fork()
        if pid == 0:
            for key in list(self._selector.get_map().values()):
                key.data.control.close()
            self._selector.close()
            here.close()
            run_child(session, number, there)
        there.close()
        child = _Child(pid, here)
        self._selector.register(here, selectors.EVENT_READ, child)

    def _receive(self, session: pytest.Session, child: _Child) -> None:
        """Handle what a process has sent, or its end."""
        piece = child.control.recv(1 << 20)
        if not piece:
            self._ended(session, child)
            return
        *lines, child.received = (child.received + piece).split(b"\n")
        for line in lines:
            match json.loads(line):
                case ["next"]:
                    group = self._groups.popleft() if self._groups and not _stops(session) else []
                    child.waiting.extend(group)
                    child.is_finished = not group
                    child.control.sendall(json.dumps(group).encode() + b"\n")
                case ["start", int(index)]:
                    child.waiting.remove(index)
                    child.running = index
                case ["report", data]:
                    self._report(session, child, data)

    def _report(self, session: pytest.Session, child: _Child, data: dict[str, object]) -> None:
        config = session.config
        report = config.hook.pytest_report_from_serializable(config=config, data=data)
        if isinstance(report.longrepr, list):
            # The place and reason of a skipped test: JSON has no tuples.
            report.longrepr = tuple(report.longrepr)
        if child.running is not None:
            name = group_name(session.items[child.running])
            self._seconds[name] = round(self._seconds.get(name, 0) + report.duration, 2)
        config.hook.pytest_runtest_logreport(report=report)
        if report.failed:  # at once: whoever waits for a long run can look at it
            lines = report.longreprtext.strip().splitlines() or [""]
            config.get_terminal_writer().line(f"\n{report.nodeid} failed ({report.when}): {lines[-1]}")
        if report.when == "teardown":
            config.hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
            child.running = None

    def _ended(self, session: pytest.Session, child: _Child) -> None:
        """Take a process off; one that died fails its test, and another takes its place."""
        self._selector.unregister(child.control)
        child.control.close()
        status = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
        if child.running is not None:
            item = session.items[child.running]
            text = f"the process that ran this test ended with {status}"
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
            session.config.hook.pytest_runtest_logreport(report=report)
        elif not child.is_finished:
            raise RuntimeError(f"a process of the run ended between two tests with {status}")
        if child.waiting:
            self._groups.appendleft(list(child.waiting))
        if not child.is_finished and self._groups and not _stops(session):
            self._fork(session)

    def _end(self) -> None:
        """Interrupt the processes that are left after an interruption, and wait until their fixtures have ended."""
        left: list[_Child] = [key.data for key in self._selector.get_map().values()]
        self._selector.close()
        for child in left:
            os.kill(child.pid, signal.SIGINT)
        for child in left:
            while child.control.recv(1 << 20):
                pass
            child.control.close()
            os.waitpid(child.pid, 0)


def _threads() -> int:
    """Return the number of this process's threads, those of C libraries among them where the system lists them."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()


def _stops(session: pytest.Session) -> bool:
    return bool(session.shouldfail or session.shouldstop)


def _stored(config: pytest.Config) -> dict[str, float]:
    cache = getattr(config, "cache", None)
    return dict(cache.get(_SECONDS, {})) if cache is not None else {}
