"""Does what administrators request of branches while the platform runs (broker/processes/branch_requests.py).

Each is a command of the machine (`headwater branch`, `headwater start`, `headwater stop`), in a process of its own, one at a time. Output of a start is dropped:
it has the keys of the branch and the link of its first administrator, and requests come from administrators of the parent.
"""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from broker.processes.branch_requests import (
    BranchOverview,
    BranchRequest,
    BranchWork,
    read_work,
    take_branch_request,
    take_look,
    write_overview,
    write_work,
)
from schemas.branches import SchemaComparison
from services.supervisor.branches.listing import disk_use, list_branches
from services.supervisor.branches.names import DRILL, branch_folder
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.errors import SupervisorError
from services.supervisor.process_lines import lines_of
from services.supervisor.processes.spawn import signal_at_parent_death
from services.supervisor.project.settings import Project
from services.supervisor.report import Reporter

_LOOK_S = 1.0
_MOST_LINES, _LONGEST_LINE = 20, 500
_LONGEST_OUTPUT = 8 * 1024 * 1024
_LONGEST_TEXT, _LONGEST_COMPARISON = 30_000, 120_000
"""Characters and bytes of a result: the file of the work is read up to 256 KiB, and JSON may take six bytes for a character."""
_SIZES_S = 60.0
_ALARM = 3
_STOPPED = "the platform was stopped"


@dataclass(slots=True)
class RequestedBranchWork:
    """Looks for requests until it is cancelled."""

    parent: DataFolder
    project: Project
    report: Reporter
    clock: Callable[[], float] = time.time
    _sizes: dict[Path, tuple[float, tuple[int, int]]] = field(default_factory=dict, init=False)

    async def run(self) -> None:
        """Do what is requested; branches are listed meanwhile."""
        if (work := read_work(self.parent.path)) is not None and work.state == "running":
            self._write(_ended(work, "failed", self.clock(), [_STOPPED]))
        working: asyncio.Task[None] | None = None
        try:
            while True:
                await asyncio.sleep(_LOOK_S)  # requests are files, which announce nothing
                if take_look(self.parent.path):
                    await asyncio.to_thread(self._list)
                if working is not None and working.done():
                    working.result()
                    working = None
                if working is None and (request := take_branch_request(self.parent.path)) is not None:
                    working = asyncio.create_task(self._do(request))
        finally:
            if working is not None:
                working.cancel()
                await asyncio.wait({working})

    def _list(self) -> None:
        now = self.clock()
        try:
            overview = BranchOverview(now, list_branches(self.parent, self._size_of))
        except (SupervisorError, OSError) as error:
            overview = BranchOverview(now, problem=str(error))
        with contextlib.suppress(OSError):  # a full disk: whoever waits for the list is told that none came
            write_overview(self.parent.path, overview)

    def _size_of(self, folder: DataFolder) -> tuple[int, int]:
        """Return the size of a branch, counted at most once a minute: it may have a million files."""
        at, size = self._sizes.get(folder.path, (0.0, (0, 0)))
        now = self.clock()
        if abs(now - at) > _SIZES_S:
            size = disk_use(folder)
            self._sizes = {path: known for path, known in self._sizes.items() if path.exists()}
            self._sizes[folder.path] = now, size
        return size

    async def _do(self, request: BranchRequest) -> None:
        work = BranchWork(request.id, request.action, request.name, "running", self.clock())
        self._write(work)
        lines: list[str] = []
        if request.name == DRILL:  # it is not masked, because nobody else reaches it
            reason = f"{DRILL} is the branch of restore drills, which delete it."
            self._write(_ended(work, "failed", self.clock(), [reason]))
            return
        if request.action != "create" and not branch_folder(self.parent, request.name).path.exists():
            # A start of a branch that is not there would create it, which is the right of an owner alone.
            self._write(_ended(work, "failed", self.clock(), [f"There is no branch {request.name}."]))
            return
        try:
            code, output = await self._command(work, words_of(request, self.parent, self.project), lines)
        except OSError as error:
            lines.append(f"It could not be begun: {error.strerror}")
            code, output = 1, b""
        except asyncio.CancelledError:
            self._write(_ended(work, "failed", self.clock(), [*lines, _STOPPED]))
            raise
        done = _with_result(_ended(work, "failed", self.clock(), lines), code, output)
        self._sizes.pop(branch_folder(self.parent, request.name).path, None)
        await asyncio.to_thread(self._list)  # first: who sees that it is done finds the list of afterwards
        self._write(done)
        if done.state == "failed":
            reason = lines[-1] if lines else f"exit code {code}"
            self.report.warn(
                f"Requested work on the branch {request.name} ({request.action}) failed: {reason}"
            )

    async def _command(self, work: BranchWork, words: Sequence[str], lines: list[str]) -> tuple[int, bytes]:
        """Run a command; return its exit code, and its output unless that is among the lines or secret."""
        is_reported = work.action == "create"
        is_result = work.action in ("compare", "access")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "services.cli.main", *words,
            env=_environment(os.environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if is_reported or is_result else asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.STDOUT if is_reported else asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches the supervisor alone, which cancels this task
            # A killed supervisor cancels nothing: the next one reports this work as failed, so it must not go on.
            preexec_fn=signal_at_parent_death(os.getpid(), signal.SIGKILL),
        )  # fmt: skip
        reported = process.stdout if is_reported else process.stderr
        assert reported is not None
        try:
            output = asyncio.create_task(_bounded(process.stdout if is_result else None))
            async for line in lines_of(reported):
                if line:
                    lines.append(line[:_LONGEST_LINE])
                    del lines[:-_MOST_LINES]
                    self._write(msgspec.structs.replace(work, lines=lines))
            return await process.wait(), await output
        finally:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    process.kill()
                    await process.wait()

    def _write(self, work: BranchWork) -> None:
        with contextlib.suppress(OSError):  # on a full disk the command itself fails and says so
            write_work(self.parent.path, work)


def words_of(request: BranchRequest, parent: DataFolder, project: Project) -> list[str]:
    """Return the words of the command that does what is requested (pure). No text of the request can be read as an option."""
    named = ["--data", str(parent.path), "--project", str(project.root)]
    configured = [*named, *(["--config", str(project.config)] if project.config else [])]
    match request.action:
        case "create":
            times = {"--stop-after": request.stop_after_s, "--remove-after": request.remove_after_s}
            limits = [f"{option}={round(value)}s" for option, value in times.items() if value is not None]
            moment = [f"--at={request.moment}"] if request.moment else []
            return ["branch", "create", *configured, *moment, *limits, "--", request.name]
        case "start":
            return ["start", "--detach", *configured, f"--branch={request.name}"]
        case "stop":
            return ["stop", *named, f"--branch={request.name}"]
        case "merge":
            migration = [f"--as={request.migration}"] if request.migration else []
            return ["branch", "merge", *named, "--yes", *migration, "--", request.name]
        case "delete":
            return ["branch", "delete", *named, "--yes", "--", request.name]
        case "compare":
            return ["branch", "diff", *named, "-o", "json", "--", request.name]
        case "access":
            return ["branch", "diff", *named, "--access", "--", request.name]


def _ended(work: BranchWork, state: str, now: float, lines: list[str]) -> BranchWork:
    return msgspec.structs.replace(
        work, state=state, ended_at=now, lines=[*work.lines, *lines][-_MOST_LINES:]
    )


def _with_result(work: BranchWork, code: int, output: bytes) -> BranchWork:
    """Return the work with what its command found; a comparison with conflicts, or with an alarm, is done too."""
    if work.action == "compare" and output:
        try:
            comparison, is_cut = _shortened(msgspec.json.decode(output, type=SchemaComparison))
        except msgspec.MsgspecError:
            return msgspec.structs.replace(
                work, lines=[*work.lines, "The comparison is too long to be shown"]
            )
        return msgspec.structs.replace(work, state="done", comparison=comparison, is_cut=is_cut)
    if work.action == "access" and code in (0, _ALARM):
        text = output.decode(errors="replace").strip()
        return msgspec.structs.replace(
            work, state="done", access=text[:_LONGEST_TEXT], is_alarm=code == _ALARM, is_cut=len(text) > _LONGEST_TEXT
        )  # fmt: skip
    return msgspec.structs.replace(work, state="done" if code == 0 else "failed")


def _shortened(comparison: SchemaComparison) -> tuple[SchemaComparison, bool]:
    """Return a comparison of which no more than a bound is left, and whether anything was cut."""
    room = _LONGEST_COMPARISON
    kept: dict[str, list[str]] = {}
    for name in ("conflicts", "migrations", "statements"):
        kept[name] = []
        for text in getattr(comparison, name):
            room -= len(msgspec.json.encode(text))
            if room >= 0:
                kept[name].append(text)
    return SchemaComparison(kept["migrations"], kept["statements"], kept["conflicts"]), room < 0


def _environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the platform's start, in which no branch is chosen."""
    return {name: value for name, value in inherited.items() if name != "HEADWATER_BRANCH"}


async def _bounded(reader: asyncio.StreamReader | None) -> bytes:
    """Return what a process writes, up to a bound; the rest is read and dropped, so that it does not wait."""
    output = b""
    while reader is not None and (piece := await reader.read(64 * 1024)):
        output += piece[: _LONGEST_OUTPUT - len(output)]
    return output
