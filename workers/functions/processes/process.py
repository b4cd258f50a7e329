"""One Deno process of a function: start it, send requests to it, stop or kill it.

start --> listening --> requests --> retire: no new requests; those under way finish, then waitUntil --> exited
      `-> exited before: BootFailed, its output is logged          `-> still there after the grace time: SIGKILL

Retiring takes two signals, which `runtime/preload.ts` handles. SIGTERM is sent at once and fires `beforeunload`. SIGUSR2 is
sent when no request holds a share any more; it shuts the server. One signal would not do: a request that is still on its
way into the socket, or whose body is still arriving, would be cut off.

A process leads a process group of its own, so `killpg` also reaches what it may have started. Why it exited is decided in
`_watch`, from the first of: a limit that we enforced, the OOM counter of its control group, its exit code and last errors.
"""

import asyncio
import contextlib
import os
import signal
import time
import uuid
from collections.abc import Callable
from subprocess import SubprocessError

from broker.observability.observe import observe
from schemas.functions.errors import BootFailed, FunctionCrashed, FunctionError, LimitReached
from workers.functions.catalog.registry import HostedFunction
from workers.functions.host.host import trim_cache
from workers.functions.imports.prepare import PreparedImports
from workers.functions.logs.journal import FunctionEnded, FunctionKilled, FunctionStarted
from workers.functions.processes import http_wire
from workers.functions.processes.command import Command, ProcessPaths, build_command
from workers.functions.processes.environment import variables_of
from workers.functions.processes.limits import STOPPED, EffectiveLimits, Meter, Sample, Share
from workers.functions.processes.output import ProcessOutput
from workers.functions.processes.process_sandbox import ProcessContext, ProcessSandbox
from workers.functions.processes.relay import ProcessRequest, ProcessUnreachable, Relay, RelayedRequest
from workers.functions.sandbox.system_files import resolver_state

_EXIT_WAIT_S = 2.0
_OUT_OF_MEMORY = ("out of memory", "heap limit", "Array buffer allocation failed")
_ANNOUNCE, _SHUT = signal.SIGTERM, signal.SIGUSR2
"""Signals for the preload: the process will be stopped; no request is under way any more."""
_CRASH_SIGNALS = (-signal.SIGTRAP, -signal.SIGABRT, -signal.SIGILL)
_LIMIT_SIGNALS = (-signal.SIGXCPU, -signal.SIGKILL)


class Instance:
    """A running process of a function. `on_exit` is called once, when it has exited."""

    def __init__(self, function: HostedFunction, limits: EffectiveLimits, context: ProcessContext) -> None:
        self.function = function
        self.limits = limits
        self.execution = str(uuid.uuid4())
        self.meter = Meter(limits)
        self.last_used = time.monotonic()
        self.resolver = resolver_state()
        self.is_retired = False
        self.exited = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self.on_exit: Callable[[Instance], None] = lambda _: None
        self._context = context
        self.sandbox = ProcessSandbox(function, limits.memory_mb, context, self.execution[:13])
        self._last_byte_at = time.monotonic()
        self._relay = Relay(str(self.sandbox.socket), self._on_bytes)
        self._output = ProcessOutput(function, self.execution, context.journal)
        self._process: asyncio.subprocess.Process | None = None
        self._watching: asyncio.Task[None] | None = None
        self._limit = ""
        self._reason = ""

    @property
    def pid(self) -> int:
        """The process id; 0 before the start."""
        return self._process.pid if self._process else 0

    @property
    def in_flight(self) -> int:
        """Number of requests under way."""
        return len(self.meter.shares)

    @property
    def is_usable(self) -> bool:
        """Whether it accepts another request."""
        return not self.is_retired and not self.exited.is_set() and self.in_flight < self.limits.concurrency

    async def start(self, prepared: PreparedImports) -> None:
        """Start the process and wait until it listens. Raises: BootFailed."""
        started_at = time.monotonic()
        variables = variables_of(self.function, self._context.platform, self.execution)
        host = self._context.host
        paths = ProcessPaths(host.deno, host.cache(self.function.name), host.preload, self.sandbox.socket)
        command = build_command(
            self.function,
            prepared,
            paths,
            variables,
            memory_mb=self.limits.memory_mb,
            denied=self.sandbox.denied_hosts(),
        )
        try:
            await self._spawn(command, prepared)
            async with asyncio.timeout(self.limits.boot_s):
                await self._wait_until_listening()
        except (TimeoutError, OSError, SubprocessError) as error:
            self._log(
                "error", f"the function did not start: {error or 'it did not listen in time'}", "boot_error"
            )
            await self._abort_start()
            raise BootFailed from None
        except BaseException:
            await self._abort_start()
            raise
        took = time.monotonic() - started_at
        self._log("info", f"booted in {took * 1000:.0f} ms", "boot")
        observe(FunctionStarted(self.function.name, self.execution, round(took, 4)))

    def reserve(self) -> Share:
        """Reserve a share for a request; `release` ends it."""
        share = Share()
        self.meter.shares.add(share)
        self._is_idle.clear()
        return share

    def release(self, share: Share) -> None:
        """End a request."""
        self.meter.shares.discard(share)
        self.last_used = time.monotonic()
        if not self.meter.shares:
            self._is_idle.set()

    async def send(self, request: ProcessRequest) -> RelayedRequest:
        """Send a request; return it when the head of its response has arrived.

        Raises: ProcessUnreachable, and the process takes no more requests; FunctionError; what the body raises.
        """
        try:
            return await self._relay.send(request)
        except ProcessUnreachable:
            self.is_retired = True
            raise
        except (http_wire.WireBroken, OSError):
            raise await self.failure() from None

    async def failure(self) -> FunctionError:
        """Return the error for a broken connection: wait up to `_EXIT_WAIT_S`, because the reason is known after the exit."""
        await self.wait_for_exit(_EXIT_WAIT_S)
        return LimitReached() if self._limit else FunctionCrashed()

    async def wait_for_exit(self, longest_s: float) -> None:
        """Wait for the exit of the process, at most so long: until then it would be sent further requests."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(longest_s):
                await self.exited.wait()

    def was_silent_since(self, moment: float) -> bool:
        """Return whether no byte of any response has arrived since a moment of the monotonic clock."""
        return self._last_byte_at < moment

    def _on_bytes(self) -> None:
        self._last_byte_at = time.monotonic()
        self.meter.progress()

    def judge(self, usage: Sample, now: float) -> None:
        """Judge a sample of the process; retire or kill it if it is over a limit."""
        match self.meter.judge(usage, now):
            case "age":
                self.is_retired = True
            case "stopped":
                self._kill_stopped()
            case str(limit):
                self.kill(limit)

    def kill(self, limit: str) -> None:
        """Kill the process because of a limit."""
        if self.exited.is_set() or self._limit:
            return
        self._limit = limit
        observe(FunctionKilled(self.function.name, self.execution, limit))
        self._log("error", f"ended: it is over its limit of {limit}", "limit")
        self._signal(signal.SIGKILL)

    def _kill_stopped(self) -> None:
        """Kill the process because a signal had stopped it: its requests fail, and clients may retry with another process."""
        if self.exited.is_set() or self._reason == STOPPED:
            return
        self._reason = STOPPED
        observe(FunctionKilled(self.function.name, self.execution, STOPPED))
        self._log("error", "ended: a signal had stopped its process", "shutdown")
        self._signal(signal.SIGKILL)

    async def retire(self, reason: str, grace_s: float) -> None:
        """Finish the requests under way and wait for the exit; kill the process when the grace time is over."""
        self.is_retired = True
        self._reason = self._reason or reason
        self._signal(_ANNOUNCE)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await _wait_for_any(self._is_idle, self.exited)
                if not self.exited.is_set():
                    self._signal(_SHUT)
                await self.exited.wait()
        if not self.exited.is_set():
            self._signal(signal.SIGKILL)
            await self.exited.wait()

    async def _spawn(self, command: Command, prepared: PreparedImports) -> None:
        stdout, child_stdout = os.pipe()
        stderr, child_stderr = os.pipe()
        try:
            with self.sandbox.confinement(command, prepared) as confinement:
                self._process = await asyncio.create_subprocess_exec(
                    *command.argv,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=child_stdout,
                    stderr=child_stderr,
                    env=dict(command.environment),
                    cwd=str(self.function.folder),
                    start_new_session=True,
                    preexec_fn=confinement.enter,
                )
        except BaseException:
            os.close(stdout)
            os.close(stderr)
            raise
        finally:
            os.close(child_stdout)
            os.close(child_stderr)
            if self.sandbox.group is not None:
                self.sandbox.group.close()
        self._output.follow(stdout, stderr)
        self._watching = asyncio.get_running_loop().create_task(self._watch(self._process))
        if self.sandbox.handover is not None:
            self.sandbox.handover.attach()

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Wait for the exit, log its reason and clean up."""
        code = await process.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_WAIT_S):
                await self._output.ended.wait()  # its last lines tell a crash from a lack of memory
        kills = self.sandbox.group.kills() if self.sandbox.group is not None else None
        if kills and not self._limit:
            self._limit = "memory"
            observe(FunctionKilled(self.function.name, self.execution, "memory"))
            text = f"ended: out of memory (limit: {self.limits.memory_mb} MB)"
            self._log("error", text, "limit")
        elif not self._limit and not self._reason:
            if code in _CRASH_SIGNALS and self._output.has_error(*_OUT_OF_MEMORY):
                self._limit = "memory"
            elif code in _LIMIT_SIGNALS and (code == -signal.SIGXCPU or kills is None):
                self._limit = "cpu" if code == -signal.SIGXCPU else "memory"
        self._signal(signal.SIGKILL)  # what it may have left in its process group
        reason = self._limit or self._reason or f"exit {code}"
        used, memory = self.meter.used_s, self.meter.memory_bytes // (1024 * 1024)
        text = f"ended ({reason}); {used:.2f} s of processor time, {memory} MB at last"
        self._log("info", text, "shutdown")
        observe(FunctionEnded(self.function.name, self.execution, reason))
        self._output.close()
        self.exited.set()
        self._relay.close()
        self.sandbox.remove_socket()
        self.on_exit(self)
        if self.sandbox.group is not None:
            await self.sandbox.group.remove_when_empty()
        await asyncio.to_thread(trim_cache, self._context.host, self.function.name)

    async def _wait_until_listening(self) -> None:
        """Wait until the process listens. Raises: BootFailed if it exits before."""
        await _wait_for_any(self._output.listening, self.exited)
        if self.sandbox.handover is not None:
            self.sandbox.handover.stop()
        if not self._output.listening.is_set():
            self._log("error", "the function did not start", "boot_error")
            raise BootFailed
        try:
            (await self._relay.connect()).finish()
        except ProcessUnreachable:
            raise BootFailed from None

    async def _abort_start(self) -> None:
        self._reason = self._reason or "boot_error"
        self.is_retired = True
        if self._process is not None:
            self._signal(signal.SIGKILL)
            await self.exited.wait()
        else:
            self.sandbox.remove_socket()
            if self.sandbox.group is not None:
                await self.sandbox.group.remove_when_empty()

    def _log(self, level: str, text: str, event: str) -> None:
        self._output.log(level, text, event)

    def _signal(self, number: int) -> None:
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


async def _wait_for_any(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
