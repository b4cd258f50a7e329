"""What confines one process of a function: its socket, its control group, its rules and the hosts that it may not reach."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from workers.functions.catalog.registry import HostedFunction
from workers.functions.host.denied_hosts import DeniedHosts
from workers.functions.host.file_rules import rules_for_running
from workers.functions.host.host import FunctionHost
from workers.functions.host.loopback import ListenerWatch, closed_ports, listening_ports
from workers.functions.imports.prepare import PreparedImports
from workers.functions.logs.journal import Journal
from workers.functions.processes.command import Command
from workers.functions.processes.environment import PlatformVariables
from workers.functions.sandbox.confinement import MOST_THREADS, Confinement, ResourceLimits
from workers.functions.sandbox.control_groups import ControlGroup
from workers.functions.sandbox.socket_handover import SocketHandover
from workers.functions.sandbox.system_call_filter import UnixSockets

_COMPILED_BYTES = 8 * 1024 * 1024
"""Longest file that the runtime may compile from a source."""


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """What all processes of a worker share: the machine, their variables, the log, denied hosts."""

    host: FunctionHost
    platform: PlatformVariables = field(repr=False)
    journal: Journal
    denied_hosts: DeniedHosts
    is_offline: bool = False
    """Modules come from the npm registry only; no other host is contacted."""
    listeners: ListenerWatch = field(default_factory=ListenerWatch)


class ProcessSandbox:
    """The sandbox of one process; `name` is unique among those of the machine."""

    def __init__(self, function: HostedFunction, memory_mb: int, context: ProcessContext, name: str) -> None:
        self._function, self._memory_mb, self._context, self._name = function, memory_mb, context, name
        self._listening: frozenset[int] = frozenset()
        self._folder = context.host.run
        if not context.host.features.is_gated:
            # It creates its socket itself, in a folder that no other function can enter.
            self._folder = context.host.run / name
        self.socket: Path = self._folder / f"{name}.sock"
        self.handover: SocketHandover | None = None
        self.group: ControlGroup | None = None

    def misses_listener(self, listening: frozenset[int]) -> bool:
        """Return whether programs listen on loopback that the process could reach: neither its list nor the kernel closes their ports."""
        reachable = self._reachable_ports()
        if reachable is None or self._context.host.wall is not None:
            return False
        return not listening <= self._listening | reachable

    def denied_hosts(self) -> tuple[str, ...]:
        """Return the hosts that the runtime denies, with the ports of loopback on which programs listen now."""
        hosts = self._context.denied_hosts
        self._listening = listening_ports()
        loopback = closed_ports(self._listening, self._reachable_ports())
        if self._context.platform.opens_database(self._function):
            return (*hosts.always, *loopback)
        return (*hosts.always, *hosts.database, *loopback)

    def _reachable_ports(self) -> frozenset[int] | None:
        opens_database = self._context.platform.opens_database(self._function)
        return self._context.host.loopback.reachable(opens_database=opens_database)

    def confinement(self, command: Command, prepared: PreparedImports) -> Confinement:
        """Build the sandbox of the process. Raises: OSError."""
        host = self._context.host
        user = host.users.user_of(self._function.name)
        socket_folder = None
        if host.features.is_gated:
            self.handover = SocketHandover(self.socket)
        else:
            socket_folder = self._folder
            socket_folder.mkdir(mode=0o700)
            if user is not None:
                os.chown(socket_folder, user.uid, user.gid)
        if host.groups is not None:
            self.group = host.groups.create(self._name, memory_mb=self._memory_mb, threads=MOST_THREADS)
            reachable = self._reachable_ports()
            if host.wall is not None and reachable is not None:
                host.wall.attach(self.group.folder, reachable)
        compiles = host.features.is_gated
        rules = rules_for_running(
            host,
            self._function,
            prepared.import_map_path,
            command.environment,
            socket_folder,
            compiles=compiles,
        )
        return Confinement(
            host.features,
            user,
            ResourceLimits(self._memory_mb, _COMPILED_BYTES if compiles else 0),
            rules,
            handover=self.handover,
            unix=UnixSockets.GATED if self.handover else UnixSockets.OPEN,
            creates=compiles,
            group=self.group,
        )

    def remove_socket(self) -> None:
        """Remove what requests reached the process by."""
        if self.handover is not None:
            self.handover.close()
        if self._folder != self._context.host.run:
            shutil.rmtree(self._folder, ignore_errors=True)
