"""Settling a function's imports on this platform: in its own cache, by its own user, behind its own walls.

What fetches modules reads hostile sources too: an error that quotes a file, or a module that is kept as a text, would tell
what no function may read. So it runs like the function itself, but for its cache, which it writes, and for the network, which it
reaches through a proxy of ours: registries that the sources name are judged there (`fetch_proxy.py`).
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from schemas.functions.variables import PROXIES
from workers.functions.confine import MOST_THREADS, Bounds, Confinement
from workers.functions.control_groups import wait_removed
from workers.functions.fetch_proxy import fetch_proxy
from workers.functions.filter import Unix
from workers.functions.imports import FetchWalls, Prepared, prepare
from workers.functions.places import Places, make_own
from workers.functions.reach import Reach
from workers.functions.readable import roots_of, rules_for_fetching
from workers.functions.registry import Function

_MEMORY_MB = 1024
_LONGEST_FILE = 256 * 1024 * 1024
_CPU_S = 300
_SPARED = ("chmod", "fchmod", "fchmodat", "utimensat", "utimes", "utime", "futimesat", "truncate")
"""System calls by which the runtime writes its cache."""


def prepare_in(places: Places, function: Function, *, offline: bool, thorough: bool = False) -> Prepared:
    """Settle the imports of a function and fetch what they name. Blocks. Raises: OSError."""
    make_own(places, function.name)
    return prepare(
        function.folder,
        function.settings,
        places.cache(function.name),
        entrypoint=function.entrypoint,
        config=function.config,
        program=places.deno,
        offline=offline,
        thorough=thorough,
        reach=Reach(places.home / "hosts.json"),
        notes=places.notes(function.name),
        roots=roots_of(function),
        sandbox=partial(_sandbox, places, function),
        preload=None if places.walls.is_gated else places.preload,
    )


@contextmanager
def _sandbox(places: Places, function: Function) -> Iterator[FetchWalls]:
    """Build what holds one program that fetches, and remove it when that has ended."""
    with ExitStack() as stack:
        proxy = None
        if not any(os.environ.get(name) for name in PROXIES):  # else the operator's decides what is reached
            proxy = stack.enter_context(fetch_proxy(places.closed))
        group = None
        if places.groups is not None:
            name = f"fetch-{uuid.uuid4().hex[:12]}"
            group = places.groups.create(name, memory_mb=_MEMORY_MB, threads=MOST_THREADS)
            stack.callback(wait_removed, group)
        walls = stack.enter_context(
            Confinement(
                places.walls,
                places.users.user_of(function.name),
                Bounds(_MEMORY_MB, _LONGEST_FILE, _CPU_S),
                rules_for_fetching(places, function, proxy.port if proxy else None),
                unix=Unix.CLOSED,
                spared=_SPARED,
                group=group,
            )
        )
        named = {"HTTP_PROXY": proxy.url, "HTTPS_PROXY": proxy.url, "NO_PROXY": ""} if proxy else {}
        yield FetchWalls(walls.enter, named)
