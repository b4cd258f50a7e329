"""`python -P -m workers secrets set|unset|list`: secrets of functions without a functions worker, as the command line calls it.

    set    {name: value} on standard input
    unset  [name] on standard input
    list   names and digests on standard output

They go where a worker keeps them, sealed as it seals them: it has them from its next start, or at its next look.
Exit codes: 0 done, 1 refused or the store cannot be reached.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence

import msgspec

from broker.blobs.errors import BlobError
from broker.blobs.store import BlobStore
from broker.processes.lifecycle import data_folder
from schemas.functions.deployments import SecretSummary
from schemas.settings.tree import Settings
from workers.functions.admin_errors import SecretRefused
from workers.functions.assembling import sealer_of
from workers.functions.deployments import check_secrets
from workers.functions.store import Store

DONE, FAILED = 0, 1


def run(settings: Settings, environment: Mapping[str, str], words: Sequence[str]) -> int:
    """Do what the words say; give the exit code."""
    del environment
    task = "".join(words[:1])
    try:
        body = sys.stdin.buffer.read() if task in ("set", "unset") else b""
        found = asyncio.run(_do(task, body, settings))
    except msgspec.MsgspecError:
        return _refuse(f"This is not what `{task}` takes.")  # its own words may hold a value
    except (SecretRefused, BlobError, OSError) as error:
        return _refuse(str(error))
    if task == "list":
        print(msgspec.json.encode(found).decode())
    return DONE


async def _do(task: str, body: bytes, settings: Settings) -> tuple[SecretSummary, ...]:
    blobs = BlobStore.open(settings.storage, data_folder())
    store = Store(blobs, sealer_of(settings))
    try:
        match task:
            case "set":
                values = msgspec.json.decode(body, type=dict[str, str])
                check_secrets(values, (await store.read()).known)
                for name, value in values.items():
                    await store.set_secret(name, value)
            case "unset":
                await store.unset_secrets(msgspec.json.decode(body, type=list[str]))
            case "list":
                return (await store.read()).known
            case _:
                raise SecretRefused("set, unset or list")
    finally:
        await blobs.close()
    return ()


def _refuse(text: str) -> int:
    print(text, file=sys.stderr, flush=True)
    return FAILED
