"""Reporter: where the supervisor says what it does. The command line decides how that looks."""

from datetime import UTC, datetime
from typing import Protocol

from services.supervisor.processes.log_files import LogFile


class Reporter(Protocol):
    """Takes short lines, without a line end. None of them holds a secret but those of `ready`."""

    def say(self, line: str) -> None:
        """Tell a step that was done or is under way."""

    def warn(self, line: str) -> None:
        """Tell something the user should look at."""

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Tell that everything runs: what it listens on, its keys, and how long the start took."""


class Recorded:
    """Passes everything on to another reporter, and writes it to the supervisor's own log, without the keys."""

    def __init__(self, inner: Reporter, log: LogFile) -> None:
        self._inner = inner
        self._log = log

    def say(self, line: str) -> None:
        """Tell a step."""
        self.record(line)
        self._inner.say(line)

    def warn(self, line: str) -> None:
        """Tell a warning."""
        self.record(f"warning: {line}")
        self._inner.warn(line)

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Tell that everything runs."""
        self.record(f"everything is ready after {seconds:.1f} s")
        self._inner.ready(values, seconds)

    def record(self, line: str) -> None:
        """Write a line to the log only."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._log.write(f"{now} {line}\n".encode())
