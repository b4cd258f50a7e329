"""Which hosts of modules can be reached from here: asked briefly, all at once, and remembered for a day.

A host answers or it does not; nothing is downloaded. What was found stands in a file, so that neither another function
nor a restart asks again. Source: reference page "functions", section 4.
"""

import contextlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import Struct

PROBE_S = 2.0
REMEMBERED_S = 86_400.0
_REFUSED = 500
_MOST_AT_ONCE = 8


class _Finding(Struct, frozen=True):
    at: float
    is_reachable: bool


def answers(host: str) -> bool:
    """Tell whether a host answers now."""
    asked = urllib.request.Request(f"https://{host}/", method="HEAD")
    try:
        with urllib.request.urlopen(asked, timeout=PROBE_S) as answer:  # noqa: S310 - https alone
            return int(answer.status) < _REFUSED
    except urllib.error.HTTPError as error:
        with error:
            return error.code < _REFUSED and error.code not in (
                403,
                407,
            )  # a proxy says so of what it does not let pass
    except (OSError, ValueError, http.client.HTTPException):
        return False


class Reach:
    """What is known of hosts. `probe` tells whether one answers now."""

    def __init__(
        self, file: Path, probe: Callable[[str], bool] = answers, clock: Callable[[], float] = time.time
    ) -> None:
        self._file, self._probe, self._clock = file, probe, clock

    def reachable(self, hosts: Iterable[str]) -> frozenset[str]:
        """Give those of the hosts that can be reached. Takes `PROBE_S` at most, once a day for each."""
        wanted = sorted(set(hosts))
        now = self._clock()
        known = {
            host: finding for host, finding in self._read().items() if 0 <= now - finding.at < REMEMBERED_S
        }
        unknown = [host for host in wanted if host not in known]
        if unknown:
            with ThreadPoolExecutor(min(len(unknown), _MOST_AT_ONCE)) as pool:
                for host, found in zip(unknown, pool.map(self._probe, unknown), strict=True):
                    known[host] = _Finding(now, found)
            self._write(known)
        return frozenset(host for host in wanted if known[host].is_reachable)

    def lose(self, hosts: Iterable[str]) -> None:
        """Take note that hosts which answered do not give their modules."""
        now = self._clock()
        self._write({**self._read(), **{host: _Finding(now, is_reachable=False) for host in hosts}})

    def _read(self) -> dict[str, _Finding]:
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, _Finding])
        return {}

    def _write(self, known: dict[str, _Finding]) -> None:
        draft = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.encode(known))
            draft.replace(self._file)
