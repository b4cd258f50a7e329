"""`python -P -m workers secrets set|unset|list`: the functions' secrets without a functions worker, for the command line.

    set    {name: value} on standard input
    unset  [name] on standard input
    list   names and digests on standard output

The secrets go into the blob store, encrypted as a worker encrypts them. A worker reads them at its next start, or within the
minute in which it reads the store again. Exit codes: 0 done, 1 rejected or the store cannot be reached.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence

import msgspec

from broker.blobs.errors import BlobError
from broker.blobs.store import BlobStore
from broker.processes.data_folder import data_folder
from schemas.functions.deployments import SecretDigest
from schemas.settings.tree import Settings
from workers.functions.deployments.deployments import check_secrets
from workers.functions.deployments.errors import SecretRejected
from workers.functions.deployments.setup import sealer_of
from workers.functions.deployments.store import DeploymentStore

DONE, FAILED = 0, 1


def run(settings: Settings, environment: Mapping[str, str], arguments: Sequence[str]) -> int:
    """Run one task and return the exit code."""
    del environment
    task = "".join(arguments[:1])
    try:
        body = sys.stdin.buffer.read() if task in ("set", "unset") else b""
        secrets = asyncio.run(_run_task(task, body, settings))
    except msgspec.MsgspecError:
        return _fail(f"This is not what `{task}` takes.")  # the error message may contain a value
    except (SecretRejected, BlobError, OSError) as error:
        return _fail(str(error))
    if task == "list":
        print(msgspec.json.encode(secrets).decode())
    return DONE


async def _run_task(task: str, body: bytes, settings: Settings) -> tuple[SecretDigest, ...]:
    blobs = BlobStore.open(settings.storage, data_folder())
    store = DeploymentStore(blobs, sealer_of(settings))
    try:
        match task:
            case "set":
                values = msgspec.json.decode(body, type=dict[str, str])
                check_secrets(values, (await store.read()).digests)
                for name, value in values.items():
                    await store.set_secret(name, value)
            case "unset":
                await store.unset_secrets(msgspec.json.decode(body, type=list[str]))
            case "list":
                return (await store.read()).digests
            case _:
                raise SecretRejected("set, unset or list")
    finally:
        await blobs.close()
    return ()


def _fail(text: str) -> int:
    print(text, file=sys.stderr, flush=True)
    return FAILED
