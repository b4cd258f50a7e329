"""Prepare a function's imports on this machine: into its own cache, as its own user, in its own sandbox.

The program that fetches modules reads hostile sources: an error that quotes a file, or a module imported as text, would
disclose files that a function may not read. So it runs in the same sandbox as the function, with two differences: it can write
the function's cache, and it reaches the network through a proxy of ours, which rejects denied addresses (`fetch_proxy.py`).
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from schemas.functions.variables import PROXIES
from workers.functions.catalog.registry import HostedFunction
from workers.functions.host.file_rules import roots_of, rules_for_fetching
from workers.functions.host.host import FunctionHost, make_function_folders
from workers.functions.imports.fetch import FetchSandbox
from workers.functions.imports.fetch_proxy import fetch_proxy
from workers.functions.imports.prepare import PreparedImports, prepare_imports
from workers.functions.imports.reachable_hosts import ReachableHosts
from workers.functions.sandbox.confinement import MOST_THREADS, Confinement, ResourceLimits
from workers.functions.sandbox.control_groups import remove_blocking
from workers.functions.sandbox.system_call_filter import UnixSockets

_MEMORY_MB = 1024
_LONGEST_FILE = 256 * 1024 * 1024
_CPU_S = 300
_SPARED = ("chmod", "fchmod", "fchmodat", "utimensat", "utimes", "utime", "futimesat", "truncate")
"""System calls that the runtime needs to write its cache."""


def prepare_in_sandbox(
    host: FunctionHost, function: HostedFunction, *, offline: bool, thorough: bool = False
) -> PreparedImports:
    """Prepare the imports of a function and fetch its modules. Blocks. Raises: OSError."""
    make_function_folders(host, function.name)
    return prepare_imports(
        function.folder,
        function.settings,
        host.cache(function.name),
        entrypoint=function.entrypoint,
        config=function.config,
        program=host.deno,
        offline=offline,
        thorough=thorough,
        reach=ReachableHosts(
            host.home / "hosts.json", undelivered=host.notes(function.name) / "undelivered.json"
        ),
        notes=host.notes(function.name),
        roots=roots_of(function),
        sandbox=partial(_sandbox, host, function),
        preload=None if host.features.is_gated else host.preload,
    )


@contextmanager
def _sandbox(host: FunctionHost, function: HostedFunction) -> Iterator[FetchSandbox]:
    """Create the sandbox of one fetching program; remove it when the program has exited."""
    with ExitStack() as stack:
        proxy = None
        if not any(
            os.environ.get(name) for name in PROXIES
        ):  # else the operator's proxy decides what is reachable
            proxy = stack.enter_context(
                fetch_proxy(host.closed, host.loopback.reachable(opens_database=False))
            )
        group = None
        if host.groups is not None:
            name = f"fetch-{uuid.uuid4().hex[:12]}"
            group = host.groups.create(name, memory_mb=_MEMORY_MB, threads=MOST_THREADS)
            stack.callback(remove_blocking, group)
            if host.wall is not None and proxy is not None:
                host.wall.attach(group.folder, frozenset({proxy.port}))
        confinement = stack.enter_context(
            Confinement(
                host.features,
                host.users.user_of(function.name),
                ResourceLimits(_MEMORY_MB, _LONGEST_FILE, _CPU_S),
                rules_for_fetching(host, function, proxy.port if proxy else None),
                unix=UnixSockets.CLOSED,
                spared=_SPARED,
                group=group,
            )
        )
        variables = {"HTTP_PROXY": proxy.url, "HTTPS_PROXY": proxy.url, "NO_PROXY": ""} if proxy else {}
        yield FetchSandbox(confinement.enter, variables)
