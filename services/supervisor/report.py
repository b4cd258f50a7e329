"""Reporter: the protocol by which the supervisor reports its steps. The command line formats them."""

from datetime import UTC, datetime
from typing import Protocol

from services.supervisor.processes.log_files import LogFile


class Reporter(Protocol):
    """Takes short lines without a line end. Only the values of `ready` contain secrets."""

    def info(self, line: str) -> None:
        """Report a step that was done or has begun."""

    def warn(self, line: str) -> None:
        """Report something the user should look at."""

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Report that everything runs: addresses and keys, and the seconds the start took."""


class RecordingReporter:
    """Forwards to another reporter and writes everything but the keys to the supervisor's log."""

    def __init__(self, inner: Reporter, log: LogFile) -> None:
        self._inner = inner
        self._log = log

    def info(self, line: str) -> None:
        """Record and forward a step."""
        self.record(line)
        self._inner.info(line)

    def warn(self, line: str) -> None:
        """Record and forward a warning."""
        self.record(f"warning: {line}")
        self._inner.warn(line)

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Record and forward that everything runs."""
        self.record(f"everything is ready after {seconds:.1f} s")
        self._inner.ready(values, seconds)

    def record(self, line: str) -> None:
        """Write a line to the log only."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._log.write(f"{now} {line}\n".encode())


class SilentReporter:
    """Drops everything: for steps that are part of another one."""

    def info(self, line: str) -> None:
        """Do nothing."""

    def warn(self, line: str) -> None:
        """Do nothing."""

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Do nothing."""
