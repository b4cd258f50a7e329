"""Settling a function's imports on this platform: in its own cache, by its own user, behind its own walls.

What fetches modules reads hostile sources too: an error that quotes a file, or a module that is kept as a text, would tell
what no function may read. So it runs like the function itself, but for its cache, which it writes.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from workers.functions.confine import MOST_THREADS, Bounds, Confinement
from workers.functions.control_groups import wait_removed
from workers.functions.filter import Unix
from workers.functions.imports import Prepared, prepare
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
def _sandbox(places: Places, function: Function) -> Iterator[Confinement]:
    """Build the walls of one program that fetches, and remove its control group when it has ended."""
    group = None
    if places.groups is not None:
        name = f"fetch-{uuid.uuid4().hex[:12]}"
        group = places.groups.create(name, memory_mb=_MEMORY_MB, threads=MOST_THREADS)
    try:
        with Confinement(
            places.walls,
            places.users.user_of(function.name),
            Bounds(_MEMORY_MB, _LONGEST_FILE, _CPU_S),
            rules_for_fetching(places, function),
            unix=Unix.CLOSED,
            spared=_SPARED,
            group=group,
        ) as walls:
            yield walls
    finally:
        if group is not None:
            wait_removed(group)
