"""A process for the tests of `broker/processes/lifecycle.py`: `python -m tests.broker.life WHAT [DRAIN_TIMEOUT]`."""

import asyncio
import sys

import msgspec

from broker.processes.lifecycle import ManagedProcess, run_process
from schemas.settings.tree import Pools, Settings, SettingsError


def say(text: str) -> None:
    print(text, flush=True)


async def main(process: ManagedProcess) -> None:
    """Live as the first argument says."""

    async def first() -> None:
        say("drained first")

    async def second() -> None:
        say("drained second")
        match sys.argv[1]:
            case "broken-drain":
                raise RuntimeError("a part is broken")
            case "long-drain":
                await asyncio.Event().wait()

    process.on_drain(first)
    process.on_drain(second)
    match sys.argv[1]:
        case "crash":
            raise RuntimeError("no way on")
        case "bad-settings":
            raise SettingsError("api.port is odd")
        case "starting":
            say("starting")
            await asyncio.Event().wait()
        case "returns":
            process.ready()
            return
    process.ready()
    process.ready()
    say("working")
    await process.stopped()
    say("stopped")


if __name__ == "__main__":
    timeout = float(sys.argv[2]) if len(sys.argv) > 2 else 20.0
    settings = msgspec.structs.replace(Settings(), pools=Pools(drain_timeout=timeout))
    sys.exit(run_process("life", main, settings))
