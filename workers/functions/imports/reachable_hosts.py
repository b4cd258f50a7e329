"""Which module hosts can be reached from here: probed briefly and in parallel, and remembered for a day.

A probe is one HEAD request; nothing is downloaded. Results are stored in a file, so neither another function nor a restart
probes again. Source: docs/reference/functions.md, section 4.
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
_SERVER_ERROR = 500
_MAX_PARALLEL = 8


class _Finding(Struct, frozen=True):
    at: float
    is_reachable: bool


def probe_host(host: str) -> bool:
    """Return whether a host answers now."""
    request = urllib.request.Request(f"https://{host}/", method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=PROBE_S) as answer:  # noqa: S310 - https alone
            return int(answer.status) < _SERVER_ERROR
    except urllib.error.HTTPError as error:
        with error:
            # A proxy answers 403 or 407 for hosts that it blocks.
            return error.code < _SERVER_ERROR and error.code not in (403, 407)
    except (OSError, ValueError, http.client.HTTPException):
        return False


class ReachableHosts:
    """Remembered results of probes. `probe` returns whether a host answers now."""

    def __init__(
        self, file: Path, probe: Callable[[str], bool] = probe_host, clock: Callable[[], float] = time.time
    ) -> None:
        self._file, self._probe, self._clock = file, probe, clock

    def reachable(self, hosts: Iterable[str]) -> frozenset[str]:
        """Return the hosts that can be reached. Takes `PROBE_S` at most, once a day for each host."""
        requested = sorted(set(hosts))
        now = self._clock()
        results = {
            host: finding for host, finding in self._read().items() if 0 <= now - finding.at < REMEMBERED_S
        }
        unknown = [host for host in requested if host not in results]
        if unknown:
            with ThreadPoolExecutor(min(len(unknown), _MAX_PARALLEL)) as pool:
                for host, answers in zip(unknown, pool.map(self._probe, unknown), strict=True):
                    results[host] = _Finding(now, answers)
            self._write(results)
        return frozenset(host for host in requested if results[host].is_reachable)

    def mark_unreachable(self, hosts: Iterable[str]) -> None:
        """Record that hosts which answered a probe do not deliver their modules."""
        now = self._clock()
        self._write({**self._read(), **{host: _Finding(now, is_reachable=False) for host in hosts}})

    def _read(self) -> dict[str, _Finding]:
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, _Finding])
        return {}

    def _write(self, results: dict[str, _Finding]) -> None:
        draft = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.encode(results))
            draft.replace(self._file)
