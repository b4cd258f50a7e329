"""The server of projects: the front gateway, a lifecycle for each project, and the control port.

Its projects are processes of their own, which go on if it is killed: the next start finds them. When it is stopped by a signal it stops them,
too.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from broker.processes.inherited_sockets import InheritedSockets
from schemas.projects import NextDue
from schemas.settings.tree import SettingsError
from services.gateway.connections.certificate import Certificate
from services.gateway.connections.connection_limits import ConnectionLimits
from services.gateway.connections.listener import GatewayListener, Site
from services.gateway.connections.tls_port import TlsPort
from services.gateway.requests.transfer_rate import TransferLimits
from services.middleware.limits import read_networks
from services.projects.control import ControlServer
from services.projects.front import FrontGateway, ServedProject
from services.projects.idleness import look
from services.projects.lifecycle import ProjectLifecycle, SleepState
from services.projects.model import (
    ControlReply,
    ControlRequest,
    FrontOptions,
    ProjectRecord,
    ProjectsServerState,
)
from services.projects.names import base_host, project_url
from services.projects.platform_process import PlatformProcess
from services.projects.registry import ServerFolder, read_projects
from services.projects.routing import route_table
from services.projects.starter import PlatformStarter
from services.supervisor.binaries import headwater_version
from services.supervisor.data_folder.folder import write_private
from services.supervisor.data_folder.proxy_secret import read_proxy_secret
from services.supervisor.errors import StartFailed, StartRefused, SupervisorError
from services.supervisor.port_holder import port_holder
from services.supervisor.ports import is_free, unbindable
from services.supervisor.report import Reporter

_TEND_S = 1.0
_MEASURE_S = 60.0
_MAX_URL, _MAX_HEADERS = 32 * 1024, 32 * 1024
_HEADER_S, _KEEPALIVE_S, _HANDSHAKE_S = 30.0, 75.0, 10.0
_TRANSFER = TransferLimits(pause_s=30.0, rate=100.0, window_s=60.0)
_MOST_CONNECTIONS, _MOST_OF_ADDRESS = 16384, 1024
_DRAIN_S = 10.0


class ProjectsServer:
    """Serves the projects of a folder until a signal."""

    def __init__(self, folder: ServerFolder, options: FrontOptions, url: str, report: Reporter) -> None:
        self._folder, self._options, self._url, self._report = folder, options, url, report
        self._scheme = "https" if options.tls_cert else "http"
        self._front = FrontGateway(read_networks(options.trusted_proxies), self._scheme)
        self._control = ControlServer(self._answer)
        self._starter = PlatformStarter()
        self._starts = asyncio.Semaphore(max(2, os.cpu_count() or 1))
        self._projects: dict[str, ServedProject] = {}
        self._records: dict[str, ProjectRecord] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._changing = asyncio.Lock()

    async def run(self) -> None:
        """Serve until a signal stops it, then stop the projects. Raises: SupervisorError."""
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stopping.set)
        began = time.monotonic()
        await self._reload()
        await self._starter.open()
        server, close = await self._listen()
        await self._control.start()
        self._write_state()
        tending = [loop.create_task(self._tend()), loop.create_task(self._measure())]
        self._report.ready({"url": self._url, "projects": str(len(self._projects))}, time.monotonic() - began)
        try:
            await stopping.wait()
            self._report.info("Stopping the projects ...")
        finally:
            for task in (*tending, *self._tasks):
                task.cancel()
            await self._control.close()
            server.leave()
            await close()
            await self._stop_all()
            self._starter.close()
            self._folder.state.unlink(missing_ok=True)

    async def _listen(self) -> tuple[GatewayListener, Callable[[], Coroutine[Any, Any, None]]]:
        """Open the port; return the server and what closes it. Raises: StartRefused."""
        options = self._options
        limits = ConnectionLimits(_MOST_CONNECTIONS, _MOST_OF_ADDRESS, read_networks(options.trusted_proxies))
        server = GatewayListener(
            self._front,
            limits,
            max_url=_MAX_URL,
            max_headers=_MAX_HEADERS,
            header_timeout=_HEADER_S,
            keepalive_timeout=_KEEPALIVE_S,
            transfer=_TRANSFER,
        )
        runner = web.ServerRunner(server, handle_signals=False)
        await runner.setup()
        if not is_free(options.host, options.port):
            raise StartRefused(
                f"Port {options.port} is in use by {port_holder(options.port)}. Stop that program, or choose another port with --port."
            )
        certificate: Certificate | None = None
        port: TlsPort | Site
        if options.tls_cert:
            try:
                certificate = Certificate([(Path(options.tls_cert), Path(options.tls_key))])
            except SettingsError as error:
                raise StartRefused(f"{error}. Correct --tls-cert and --tls-key.") from None
            port = TlsPort(
                server, options.host, options.port, certificate.context, _HANDSHAKE_S, InheritedSockets()
            )
            certificate.start()
        else:
            port = Site(runner, options.host, options.port, InheritedSockets())
        try:
            await port.start()
        except OSError as error:
            raise StartRefused(unbindable(options.host, options.port, error)) from None

        async def close() -> None:
            await port.stop()
            server.pre_shutdown()
            await server.shutdown(_DRAIN_S / 2)
            await runner.cleanup()
            if certificate is not None:
                await certificate.close()

        return server, close

    async def _reload(self) -> None:
        """Take over the projects of the folder: new ones, changed limits and hosts, and those that are gone. Raises: SupervisorError."""
        async with self._changing:
            records = {record.name: record for record in read_projects(self._folder)}
            for name in self._projects.keys() - records.keys():
                project = self._projects.pop(name)
                await project.lifecycle.hold()
                project.connections.close()
            for name, record in records.items():
                await self._take_over(name, record)
            self._records = records
            self._front.projects = dict(self._projects)
            self._front.table = route_table(records.values(), base_host(self._url))

    async def _take_over(self, name: str, record: ProjectRecord) -> None:
        project = self._projects.get(name)
        if project is None:
            project = self._new(record)
            self._projects[name] = project
            if (port := self._platform(project).port()) is not None:
                project.lifecycle.adopt(port)
                self._report.info(f"{name}: runs already")
            return
        project.lifecycle.limits = record.limits
        project.lifecycle.is_held = False  # a command that was to remove it did not
        public_url = project_url(record, self._url)
        if public_url != project.public_url or record.folder != self._records[name].folder:
            await (
                project.lifecycle.hold()
            )  # its address is a setting of its platform: the next request starts it with the new one
            project.connections.close()
            self._projects[name] = self._new(record)

    def _new(self, record: ProjectRecord) -> ServedProject:
        url = project_url(record, self._url)
        platform = PlatformProcess(record, url, self._starter)
        lifecycle = ProjectLifecycle(
            record.name,
            platform,
            record.limits,
            ask_idle=partial(look, platform),
            starts=self._starts,
            wake_timeout_s=self._options.wake_timeout_s,
            on_event=lambda name, text: self._on_event(name, text),
        )
        try:
            note = msgspec.json.decode(self._folder.wake_note(record.name).read_bytes(), type=NextDue)
            lifecycle.due_at = note.moment
        except (OSError, msgspec.MsgspecError):
            pass  # it has not slept yet
        return ServedProject(lifecycle, url, partial(read_proxy_secret, platform.data.path))

    def _platform(self, project: ServedProject) -> PlatformProcess:
        platform = project.lifecycle.platform
        assert isinstance(platform, PlatformProcess)  # what `_new` made
        return platform

    def _on_event(self, name: str, text: str) -> None:
        """Report what happened to a project, and write down when it wakes by itself."""
        self._report.info(f"{name}: {text}")
        project = self._projects.get(name)
        if project is not None and project.lifecycle.state is SleepState.ASLEEP:
            write_private(
                self._folder.wake_note(name), msgspec.json.encode(NextDue(project.lifecycle.due_at))
            )

    async def _tend(self) -> None:
        """Look after every project about once a second."""
        while True:
            await asyncio.sleep(_TEND_S)
            for project in list(self._projects.values()):
                task = project.lifecycle.tend()
                if task is not None:
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)

    async def _measure(self) -> None:
        """Measure the disk of projects that have a limit of it and may grow, once a minute."""
        while True:
            for project in list(self._projects.values()):
                lifecycle = project.lifecycle
                if lifecycle.limits.disk_mib and (
                    lifecycle.state is SleepState.AWAKE or not lifecycle.disk_mib
                ):
                    lifecycle.disk_mib = await asyncio.to_thread(self._platform(project).size_mib)
            await asyncio.sleep(_MEASURE_S)

    async def _answer(self, request: ControlRequest) -> ControlReply:
        """Do what a command asks."""
        try:
            match request.action:
                case "list":
                    pass
                case "reload":
                    await self._reload()
                case "wake":
                    await self._named(request.name).lifecycle.reach()
                case "sleep":
                    stopping = self._named(request.name).lifecycle.sleep()
                    if stopping is not None:
                        await asyncio.wait((stopping,))
                case "release":
                    await self._named(request.name).lifecycle.hold()
                case _:
                    return ControlReply(f"There is no action {request.action}.")
        except Exception as error:  # the boundary of a command: it gets the reason, the server goes on
            reason = self._projects[request.name].lifecycle.reason if request.name in self._projects else ""
            return ControlReply(reason or str(error), self._status())
        return ControlReply(projects=self._status())

    def _named(self, name: str) -> ServedProject:
        if name not in self._projects:
            raise StartRefused(f"There is no project {name}.")
        return self._projects[name]

    def _status(self) -> list[Any]:
        return [project.lifecycle.status() for _, project in sorted(self._projects.items())]

    def _write_state(self) -> None:
        address = f"{self._scheme}://{self._options.host}:{self._options.port}"
        state = ProjectsServerState(
            os.getpid(),
            headwater_version(),
            time.time(),
            self._url,
            address,
            self._control.port,
            self._control.token,
        )
        write_private(self._folder.state, msgspec.json.encode(state))

    async def _stop_all(self) -> None:
        """Stop every project, all at the same time."""
        holds = [project.lifecycle.hold() for project in self._projects.values()]
        for result in await asyncio.gather(*holds, return_exceptions=True):
            if isinstance(result, SupervisorError):
                self._report.warn(str(result))
            elif isinstance(result, BaseException):
                raise StartFailed(f"A project could not be stopped: {result}")
        for project in self._projects.values():
            project.connections.close()
