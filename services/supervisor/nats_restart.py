"""Restarts nats-server when a stream does not store although the disk has room again.

nats-server keeps the error of a failed write until it is restarted (`broker/jetstream/stream_watch.py` detects it). A restart
delays requests by less than a second, so it is done as soon as the disk has room; while the disk is full it would not help. If
the fault remains afterwards, the pauses between restarts grow up to five minutes: with another cause, such as a broken disk, the
broker must not restart over and over.
"""

import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from schemas.faults import Fault

ROOM = 16 * 1024 * 1024
"""Bytes that must be free before a restart."""
PAUSES_S = (10.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds between a restart and the next one, while the fault lasts."""
_WRITE_ERROR = re.compile(rb"JetStream stream '\S* > ([^']+)' critical write error: (.*)")
_MOST = 16


class NatsRestartPolicy:
    """Decides when nats-server is restarted. `free_bytes` returns the free space of the disk of its streams.

    A failed write is known at once from the server's log, and later from the faults of the processes that publish.
    """

    def __init__(self, free_bytes: Callable[[], int]) -> None:
        self._free_bytes = free_bytes
        self._logged: dict[str, Fault] = {}
        self._not_before = 0.0
        self._restarts = 0

    @property
    def logged_faults(self) -> list[Fault]:
        """The failed writes that the running server has logged."""
        return list(self._logged.values())

    def read_log_line(self, line: bytes) -> None:
        """Record the failed write that a line of the server's log reports, if it does."""
        if (match := _WRITE_ERROR.search(line)) and len(self._logged) < _MOST:
            part = f"stream {match[1].decode(errors='replace')}"
            reason = match[2].decode(errors="replace").rpartition(": ")[2]
            self._logged[part] = Fault(part, f"does not store: {reason}", is_sticky=True)

    def clear_log(self) -> None:
        """Drop the faults of an earlier server: another one starts."""
        self._logged.clear()

    def reason_to_restart(self, faults: Iterable[Fault], now: float) -> str:
        """Return why nats-server has to be restarted now, or an empty string. A returned restart counts as done."""
        sticky = list(
            {fault.part: fault for fault in (*faults, *self.logged_faults) if fault.is_sticky}.values()
        )
        if not sticky:
            if now >= self._not_before:
                self._restarts = 0
            return ""
        if now < self._not_before or (free := self._free_bytes()) < ROOM:
            return ""
        self._not_before = now + PAUSES_S[min(self._restarts, len(PAUSES_S) - 1)]
        self._restarts += 1
        reasons = ", ".join(dict.fromkeys(f"{fault.part} {fault.reason}" for fault in sticky))
        return f"{reasons}, although {free // 1024 // 1024:,} MiB are free"


def free_bytes_at(folder: Path) -> int:
    """Return the free bytes of the disk of a folder; 0 if they cannot be read."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
