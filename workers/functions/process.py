"""One process of a function: started, ready when its socket answers, asked, ended in order or killed.

start --> listening --> requests --> retire: no new ones; what is under way is finished, then waitUntil --> gone
      `-> ended before: BootFailed, with what it said             `-> still there after its grace: SIGKILL

A process that retires is told so at once (`beforeunload`) and shut only when the last request that it was given has been
answered: one that is on its way into the socket, or whose body is still to come, is finished by it.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from subprocess import SubprocessError

from broker.observability.observe import observe
from schemas.functions.errors import BootFailed, FunctionCrashed, FunctionError, LimitReached
from workers.functions import http_wire
from workers.functions.confine import MOST_THREADS, Bounds, Confinement
from workers.functions.control_groups import ControlGroup
from workers.functions.environment import Platform, variables_of
from workers.functions.filter import Unix
from workers.functions.imports import Prepared
from workers.functions.inner import Inner
from workers.functions.launch import Command, Place, command
from workers.functions.limits import STOPPED, Limits, Meter, Sample, Share
from workers.functions.listener import Listener
from workers.functions.logs import (
    LISTENING,
    FunctionEnded,
    FunctionKilled,
    FunctionStarted,
    Journal,
    Lines,
    read_line,
)
from workers.functions.places import Places, trim
from workers.functions.readable import rules_at_work
from workers.functions.registry import Function
from workers.functions.relay import Exchange, Relay, Unreached
from workers.functions.system_files import resolver_state

_READ = 64 * 1024
_REMEMBERED = 40
_COMPILED_BYTES = 8 * 1024 * 1024
"""Longest file that the runtime may make of a source."""
_SEE_OFF_S = 2.0
_OUT_OF_MEMORY = ("out of memory", "heap limit", "Array buffer allocation failed")
_IDLE_HINTS = ("warning: Detected export default { fetch }",)
"""What the runtime says about things that are in order here."""
_TOLD, _SHUT = signal.SIGTERM, signal.SIGUSR2
"""What the preload hears: that the end has begun; that no request is under way any more."""
_CRASHES = (-signal.SIGTRAP, -signal.SIGABRT, -signal.SIGILL)
_SPENT = (-signal.SIGXCPU, -signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all processes of a worker share."""

    places: Places
    platform: Platform = field(repr=False)
    journal: Journal
    inner: Inner
    is_offline: bool = False
    """No host is asked for modules but the registry of packages."""


class Instance:
    """A running process of a function. `on_gone` is called once, when it has ended."""

    def __init__(self, function: Function, limits: Limits, around: Surroundings) -> None:
        self.function = function
        self.limits = limits
        self.execution = str(uuid.uuid4())
        self.meter = Meter(limits)
        self.last_used = time.monotonic()
        self.resolver = resolver_state()
        self.is_retired = False
        self.gone = asyncio.Event()
        self._is_free = asyncio.Event()
        self._is_free.set()
        self.on_gone: Callable[[Instance], None] = lambda _: None
        self._around = around
        self._folder = around.places.run
        if (
            not around.places.walls.is_gated
        ):  # it makes its socket itself, in a folder that no other function enters
            self._folder = around.places.run / self.execution[:13]
        self._socket = self._folder / f"{self.execution[:13]}.sock"
        self._listener: Listener | None = None
        self._group: ControlGroup | None = None
        self._heard_at = time.monotonic()
        self._relay = Relay(str(self._socket), self._progress)
        self._own_files = f"file://{function.root.parent}/"
        self._listening = asyncio.Event()
        self._said: deque[str] = deque(maxlen=_REMEMBERED)
        self._process: asyncio.subprocess.Process | None = None
        self._watching: asyncio.Task[None] | None = None
        self._limit = ""
        self._reason = ""

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid if self._process else 0

    @property
    def in_flight(self) -> int:
        """Requests it works on."""
        return len(self.meter.shares)

    @property
    def is_usable(self) -> bool:
        """Whether it may be given another request."""
        return not self.is_retired and not self.gone.is_set() and self.in_flight < self.limits.concurrency

    async def start(self, prepared: Prepared) -> None:
        """Start it and wait until it listens. Raises: BootFailed."""
        began = time.monotonic()
        variables = variables_of(self.function, self._around.platform, self.execution)
        places = self._around.places
        place = Place(places.deno, places.cache(self.function.name), places.preload, self._socket)
        made = command(
            self.function,
            prepared,
            place,
            variables,
            memory_mb=self.limits.memory_mb,
            denied=self._denied(),
        )
        try:
            await self._spawn(made, prepared)
            async with asyncio.timeout(self.limits.boot_s):
                await self._ready()
        except (TimeoutError, OSError, SubprocessError) as error:
            self._say(
                "error", f"the function did not start: {error or 'it did not listen in time'}", "boot_error"
            )
            await self._end_badly()
            raise BootFailed from None
        except BaseException:
            await self._end_badly()
            raise
        took = time.monotonic() - began
        self._say("info", f"booted in {took * 1000:.0f} ms", "boot")
        observe(FunctionStarted(self.function.name, self.execution, round(took, 4)))

    def take(self) -> Share:
        """Take a place for a request; `give_back` ends it."""
        share = Share()
        self.meter.shares.add(share)
        self._is_free.clear()
        return share

    def give_back(self, share: Share) -> None:
        """End a request."""
        self.meter.shares.discard(share)
        self.last_used = time.monotonic()
        if not self.meter.shares:
            self._is_free.set()

    async def ask(
        self,
        head: bytes,
        body: bytes | AsyncIterator[bytes],
        *,
        is_head: bool,
        is_chunked: bool,
        is_raw: bool,
    ) -> Exchange:
        """Send a request and give its answer. Raises: Unreached, then it is retired; FunctionError; what the body raises."""
        try:
            return await self._relay.ask(head, body, is_head=is_head, is_chunked=is_chunked, is_raw=is_raw)
        except Unreached:
            self.is_retired = True
            raise
        except (http_wire.WireBroken, OSError):
            raise await self.failure() from None

    async def failure(self) -> FunctionError:
        """Say why a connection to it broke: give it a moment to be seen ending."""
        await self.see_off(_SEE_OFF_S)
        return LimitReached() if self._limit else FunctionCrashed()

    async def see_off(self, longest_s: float) -> None:
        """Wait a moment for its end: until then it would be given requests."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(longest_s):
                await self.gone.wait()

    def was_silent_since(self, moment: float) -> bool:
        """Return whether no byte of any answer has come from it since a moment of the monotonic clock."""
        return self._heard_at < moment

    def _progress(self) -> None:
        self._heard_at = time.monotonic()
        self.meter.progress()

    def judge(self, seen: Sample, now: float) -> None:
        """Take a sample of it, and end it if it is beyond a limit."""
        match self.meter.judge(seen, now):
            case "age":
                self.is_retired = True
            case "stopped":
                self._end_stopped()
            case str(limit):
                self.kill(limit)

    def kill(self, limit: str) -> None:
        """End it at once, because of a limit."""
        if self.gone.is_set() or self._limit:
            return
        self._limit = limit
        observe(FunctionKilled(self.function.name, self.execution, limit))
        self._say("error", f"ended: it is beyond its limit of {limit}", "limit")
        self._signal(signal.SIGKILL)

    def _end_stopped(self) -> None:
        """End it at once, because it was stopped: who waits for it is told that it failed, and may ask another one."""
        if self.gone.is_set() or self._reason == STOPPED:
            return
        self._reason = STOPPED
        observe(FunctionKilled(self.function.name, self.execution, STOPPED))
        self._say("error", "ended: a signal had stopped its process", "shutdown")
        self._signal(signal.SIGKILL)

    async def retire(self, reason: str, grace_s: float) -> None:
        """Let it finish what it was given, and see it end; what takes longer than its grace is killed."""
        self.is_retired = True
        self._reason = self._reason or reason
        self._signal(_TOLD)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await _first(self._is_free, self.gone)
                if not self.gone.is_set():
                    self._signal(_SHUT)
                await self.gone.wait()
        if not self.gone.is_set():
            self._signal(signal.SIGKILL)
            await self.gone.wait()

    def _denied(self) -> tuple[str, ...]:
        inner = self._around.inner
        is_open = self._around.platform.opens_database(self.function)
        return inner.always if is_open else (*inner.always, *inner.database)

    def _confinement(self, made: Command, prepared: Prepared) -> Confinement:
        """Build the walls of the process. Raises: OSError."""
        places = self._around.places
        user = places.users.user_of(self.function.name)
        own = None
        if places.walls.is_gated:
            self._listener = Listener(self._socket)
        else:
            own = self._folder
            own.mkdir(mode=0o700)
            if user is not None:
                os.chown(own, user.uid, user.gid)
        if places.groups is not None:
            self._group = places.groups.create(
                self.execution[:13], memory_mb=self.limits.memory_mb, threads=MOST_THREADS
            )
        compiles = places.walls.is_gated
        rules = rules_at_work(places, self.function, prepared, made.environment, own, compiles=compiles)
        return Confinement(
            places.walls,
            user,
            Bounds(self.limits.memory_mb, _COMPILED_BYTES if compiles else 0),
            rules,
            listener=self._listener,
            unix=Unix.GATED if self._listener else Unix.OPEN,
            creates=compiles,
            group=self._group,
        )

    async def _spawn(self, made: Command, prepared: Prepared) -> None:
        out, its_out = os.pipe()
        err, its_err = os.pipe()
        try:
            with self._confinement(made, prepared) as walls:
                self._process = await asyncio.create_subprocess_exec(
                    *made.argv,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=its_out,
                    stderr=its_err,
                    env=dict(made.environment),
                    cwd=str(self.function.folder),
                    start_new_session=True,
                    preexec_fn=walls.enter,
                )
        except BaseException:
            os.close(out)
            os.close(err)
            raise
        finally:
            os.close(its_out)
            os.close(its_err)
            if self._group is not None:
                self._group.shut()
        _follow(out, Lines(lambda line: self._hear(line, "info")))
        told = asyncio.Event()
        _follow(err, Lines(lambda line: self._hear(line, "error")), told.set)
        self._watching = asyncio.get_running_loop().create_task(self._watch(self._process, told))
        if self._listener is not None:
            self._listener.attach()

    async def _watch(self, process: asyncio.subprocess.Process, told: asyncio.Event) -> None:
        """Wait for its end, and say how it came."""
        code = await process.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SEE_OFF_S):
                await told.wait()
        kills = self._group.kills() if self._group is not None else None
        if kills and not self._limit:
            self._limit = "memory"
            observe(FunctionKilled(self.function.name, self.execution, "memory"))
            self._say(
                "error", f"ended: out of memory, of {self.limits.memory_mb} MB that it may have", "limit"
            )
        elif not self._limit and not self._reason:
            if code in _CRASHES and any(sign in line for line in self._said for sign in _OUT_OF_MEMORY):
                self._limit = "memory"
            elif code in _SPENT and (code == -signal.SIGXCPU or kills is None):
                self._limit = "cpu" if code == -signal.SIGXCPU else "memory"
        self._signal(signal.SIGKILL)  # what it may have left in its group
        reason = self._limit or self._reason or f"exit {code}"
        used, memory = self.meter.used_s, self.meter.memory_bytes // (1024 * 1024)
        self._say(
            "info", f"ended ({reason}); {used:.2f} s of processor time, {memory} MB at last", "shutdown"
        )
        observe(FunctionEnded(self.function.name, self.execution, reason))
        self._around.journal.close(self.execution)
        self.gone.set()
        self._relay.close()
        self._remove_socket()
        self.on_gone(self)
        if self._group is not None:
            await self._group.removed()
        await asyncio.to_thread(trim, self._around.places, self.function.name)

    def _remove_socket(self) -> None:
        if self._listener is not None:
            self._listener.close()
        if self._folder != self._around.places.run:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _ready(self) -> None:
        """Wait until it listens. Raises: BootFailed if it ends before."""
        await _first(self._listening, self.gone)
        if self._listener is not None:
            self._listener.shut()
        if not self._listening.is_set():
            self._say("error", "the function did not start", "boot_error")
            raise BootFailed
        try:
            (await self._relay.connect()).finish()
        except Unreached:
            raise BootFailed from None

    async def _end_badly(self) -> None:
        self._reason = self._reason or "boot_error"
        self.is_retired = True
        if self._process is not None:
            self._signal(signal.SIGKILL)
            await self.gone.wait()
        else:
            self._remove_socket()
            if self._group is not None:
                await self._group.removed()

    def _hear(self, line: bytes, level: str) -> None:
        found = read_line(line, level)
        if isinstance(found, str):
            if found == LISTENING:
                self._listening.set()
            return
        level, request_id, text = found
        if text.startswith(_IDLE_HINTS):
            return
        text = text.replace(self._own_files, "")
        if level == "error":
            self._said.append(text[:_READ])
        self._around.journal.write(self.function, self.execution, level, text, request_id)

    def _say(self, level: str, text: str, event: str) -> None:
        self._around.journal.write(self.function, self.execution, level, text, event=event)

    def _signal(self, number: int) -> None:
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


async def _first(*events: asyncio.Event) -> None:
    """Wait until one of them is set."""
    waiting = [asyncio.ensure_future(each.wait()) for each in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()


def _follow(descriptor: int, lines: Lines, at_end: Callable[[], None] = lambda: None) -> None:
    """Read a pipe until its end."""
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)

    def read() -> None:
        try:
            data = os.read(descriptor, _READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            lines.feed(data)
            return
        loop.remove_reader(descriptor)
        os.close(descriptor)
        lines.end()
        at_end()

    loop.add_reader(descriptor, read)
