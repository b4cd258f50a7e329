"""Restarts nats-server when a stream does not store although there is room again.

nats-server keeps the error of a failed write until it is restarted (`broker/jetstream/stream_watch.py` finds it out). A restart costs
requests less than a second, so it is done as soon as the disk has room; while the disk is full it would cure nothing. If the
fault is still there afterwards, the pauses between restarts grow, up to five minutes: another cause, such as a broken disk,
must not keep the platform without its broker.
"""

import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from schemas.faults import Fault

ROOM = 16 * 1024 * 1024
"""Bytes that must be free before a restart."""
PAUSES_S = (10.0, 30.0, 60.0, 120.0, 300.0)
"""How long to wait after a restart before the next one, while the fault lasts."""
_WRITE_ERROR = re.compile(rb"JetStream stream '\S* > ([^']+)' critical write error: (.*)")
_MOST = 16


class BrokerStore:
    """Decides when nats-server is to be restarted. `free_bytes` returns the room where its streams are stored.

    It learns of a failed write at once from the server's log, else from the faults of the processes that publish.
    """

    def __init__(self, free_bytes: Callable[[], int]) -> None:
        self._free_bytes = free_bytes
        self._heard: dict[str, Fault] = {}
        self._not_before = 0.0
        self._restarts = 0

    @property
    def heard(self) -> list[Fault]:
        """The failed writes that the present server has logged."""
        return list(self._heard.values())

    def hear(self, line: bytes) -> None:
        """Read a line of the server's log."""
        if (found := _WRITE_ERROR.search(line)) and len(self._heard) < _MOST:
            part = f"stream {found[1].decode(errors='replace')}"
            reason = found[2].decode(errors="replace").rpartition(": ")[2]
            self._heard[part] = Fault(part, f"does not store: {reason}", is_sticky=True)

    def forget(self) -> None:
        """Forget what an earlier server has logged: another one starts."""
        self._heard.clear()

    def reason_to_restart(self, faults: Iterable[Fault], now: float) -> str:
        """Return why nats-server is to be restarted now; empty if it is not. A restart that is due counts as done."""
        sticky = list({fault.part: fault for fault in (*faults, *self.heard) if fault.is_sticky}.values())
        if not sticky:
            if now >= self._not_before:
                self._restarts = 0
            return ""
        if now < self._not_before or (free := self._free_bytes()) < ROOM:
            return ""
        self._not_before = now + PAUSES_S[min(self._restarts, len(PAUSES_S) - 1)]
        self._restarts += 1
        told = ", ".join(dict.fromkeys(f"{fault.part} {fault.reason}" for fault in sticky))
        return f"{told}, although {free // 1024 // 1024:,} MiB are free"


def free_bytes_at(folder: Path) -> int:
    """Return the bytes that are free where a folder lies; 0 if that cannot be found out."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
