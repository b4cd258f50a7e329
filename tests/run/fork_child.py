"""A fork of the process that collected the tests: it runs one group after the other and sends what happened.

It is called after the fork and never returns. Lines of JSON go to the controller: `["next"]` requests a group, `["start",
index]` names the test that runs, `["report", {...}]` is a report of pytest. The controller answers a request with a line
`[index, ...]`; an empty one ends the process.

pytest needs the next test to decide which fixtures end with this one, so a group is requested before the last test of the
one before it.
"""

import atexit
import contextlib
import json
import os
import signal
import socket
import sys
import traceback
from typing import TextIO

import pytest

from tests.run.cpu_table import add_cpu_table

PROCESS_NUMBER = "TESTS_PROCESS"
"""Environment variable: the number of this process in the run."""

_OF_CONTROLLER = ("failure-digest", "logxml", "lfplugin", "stepwiseplugin")
"""Plugins that write down what happened: the controller's do."""


class ReportSender:
    """Sends the reports of this process."""

    def __init__(self, config: pytest.Config, output: TextIO) -> None:
        self._config = config
        self._output = output

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report."""
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self.send("report", data)

    def send(self, *message: object) -> None:
        """Send a line; what JSON does not have is sent as its text."""
        self._output.write(json.dumps(message, default=repr) + "\n")
        self._output.flush()


def run_child(session: pytest.Session, number: int, control: socket.socket) -> None:
    """Run the groups that the controller hands out, then end this process."""
    code = 1
    try:
        _prepare(session.config, number)
        with control.makefile("w") as output, control.makefile("r") as orders:
            sender = ReportSender(session.config, output)
            session.config.pluginmanager.register(sender, "report-sender")
            add_cpu_table(session.config)
            _run_groups(session, sender, orders)
        code = 0
    except BaseException as error:
        if not isinstance(error, KeyboardInterrupt):
            traceback.print_exc(file=sys.__stderr__)
        with contextlib.suppress(BaseException):
            session._setupstate.teardown_exact(None)  # the servers of its fixtures end with it
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
    os._exit(code)


def _prepare(config: pytest.Config, number: int) -> None:
    """Leave printing to the controller, and take folders and captured output of this process's own."""
    os.environ[PROCESS_NUMBER] = str(number)
    for name in _OF_CONTROLLER:
        if (plugin := config.pluginmanager.get_plugin(name)) is not None:
            config.pluginmanager.unregister(plugin)
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    terminal._tw = pytest.TerminalReporter(
        config,
        open(os.devnull, "w"),  # noqa: SIM115  (until the process ends)
    )._tw  # it stays: pytest-timeout asks for it
    capture = config.pluginmanager.get_plugin("capturemanager")
    capture.start_global_capturing()
    capture.suspend_global_capture()
    folders = config._tmp_path_factory  # type: ignore[attr-defined]  # made before the fork: one folder for the run
    folders._basetemp = folders.mktemp(f"process-{number}", numbered=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _run_groups(session: pytest.Session, sender: ReportSender, orders: TextIO) -> None:
    def next_group() -> list[int]:
        sender.send("next")
        return list(json.loads(orders.readline() or "[]"))

    group = next_group()
    while group:
        following: list[int] = []
        for place, index in enumerate(group):
            if place + 1 < len(group):
                after = group[place + 1]
            else:
                following = next_group()
                after = following[0] if following else -1
            item = session.items[index]
            sender.send("start", index)
            item.config.hook.pytest_runtest_protocol(
                item=item, nextitem=session.items[after] if after >= 0 else None
            )
        group = following
