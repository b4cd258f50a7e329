"""Which module hosts can be reached from here: probed briefly and in parallel, and remembered for a day.

A probe is one HEAD request; nothing is downloaded. Results are stored in a file, so neither another function nor a restart
probes again. That a host which answers did not deliver modules is stored for one function alone: others may import what exists. The
author of a function names the hosts, so probes of one preparation and stored results are bounded. Source: docs/reference/functions.md, section 4.
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
MOST_PROBED = 32
"""Hosts that one preparation probes; further ones count as reachable, and fetching their modules shows it."""
_MOST_STORED = 1000


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
    """Remembered results of probes in `file`. `probe` returns whether a host answers now.

    `undelivered` is the file of one function with the hosts that did not deliver their modules; by default it lies beside `file`.
    """

    def __init__(
        self,
        file: Path,
        probe: Callable[[str], bool] = probe_host,
        clock: Callable[[], float] = time.time,
        *,
        undelivered: Path | None = None,
    ) -> None:
        self._file, self._probe, self._clock = file, probe, clock
        self._undelivered = undelivered or file.with_name("undelivered.json")

    def reachable(self, hosts: Iterable[str]) -> frozenset[str]:
        """Return the hosts that can be reached. Takes `PROBE_S` for eight hosts at most, once a day for each host."""
        requested = sorted(set(hosts))
        now = self._clock()
        results = _present(_read(self._file), now)
        failed = _present(_read(self._undelivered), now)
        unknown = [host for host in requested if host not in results and host not in failed][:MOST_PROBED]
        if unknown:
            with ThreadPoolExecutor(min(len(unknown), _MAX_PARALLEL)) as pool:
                for host, answers in zip(unknown, pool.map(self._probe, unknown), strict=True):
                    results[host] = _Finding(now, answers)
            _write(self._file, results)
        return frozenset(
            host
            for host in requested
            if host not in failed and (host not in results or results[host].is_reachable)
        )

    def mark_unreachable(self, hosts: Iterable[str]) -> None:
        """Record that hosts which answered a probe do not deliver their modules."""
        now = self._clock()
        present = _present(_read(self._undelivered), now)
        _write(self._undelivered, {**present, **{host: _Finding(now, is_reachable=False) for host in hosts}})


def _present(results: dict[str, _Finding], now: float) -> dict[str, _Finding]:
    return {host: finding for host, finding in results.items() if 0 <= now - finding.at < REMEMBERED_S}


def _read(file: Path) -> dict[str, _Finding]:
    with contextlib.suppress(OSError, msgspec.MsgspecError):  # missing or damaged: hosts are probed again
        return msgspec.json.decode(file.read_bytes(), type=dict[str, _Finding])
    return {}


def _write(file: Path, results: dict[str, _Finding]) -> None:
    """Store the newest results. A full disk is no error: hosts are probed again."""
    newest = sorted(results.items(), key=lambda item: item[1].at, reverse=True)[:_MOST_STORED]
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(msgspec.json.encode(dict(newest)))
        draft.replace(file)
