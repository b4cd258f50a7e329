"""Starts of a function's processes that fail."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.functions.errors import BootFailed
from schemas.settings.functions import EdgeRuntime, FunctionSettings
from workers.functions.catalog.registry import HostedFunction
from workers.functions.processes import version_processes as module
from workers.functions.processes.limits import limits_of
from workers.functions.processes.version_processes import VersionProcesses


async def test_a_start_that_fails_in_an_unforeseen_way_fails_its_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts: list[object] = []

    def fail(function: object, host: object) -> None:
        starts.append(function)
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(module, "make_readable", fail)
    function = HostedFunction(
        "one", "v", Path("/f/one/index.ts"), None, Path("/f/one"), FunctionSettings(), {}, Path("/f")
    )
    context: Any = SimpleNamespace(host=None)
    processes = VersionProcesses(function, limits_of(function.settings, EdgeRuntime()), context)

    with pytest.raises(BootFailed):
        async with asyncio.timeout(1):
            await processes.acquire()

    assert len(starts) == 1
