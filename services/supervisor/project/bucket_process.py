"""Run `buckets.py` as a process of its own, so that the supervisor and the command line never load the HTTP client.

The HTTP client (aiohttp) would be half of what a command imports, and would stay in the supervisor's memory. The job goes to the
process as JSON on its standard input; its reports come back on its standard output, one line of JSON each.
"""

import asyncio
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from schemas.keys.secret_record import SecretRecord
from schemas.settings.storage import Bucket
from services.supervisor.report import Reporter

_MODULE = "services.supervisor.project.buckets"


class BucketJob(SecretRecord, msgspec.Struct, frozen=True):
    """The buckets of a project, and the gateway that stores them."""

    buckets: dict[str, Bucket]
    url: str
    service_key: str
    folder: str


async def load_buckets_in_process(
    buckets: Mapping[str, Bucket], url: str, service_key: str, folder: Path, report: Reporter
) -> None:
    """Create, change and fill the buckets of a project (`buckets.load_buckets`) in a process that ends with the work."""
    job = BucketJob(dict(buckets), url, service_key, str(folder))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        _MODULE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches the supervisor alone, which cancels this task
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(msgspec.json.encode(job, enc_hook=int))  # a `Size` is an int
        process.stdin.close()
        async for line in process.stdout:
            match msgspec.json.decode(line):
                case ["info", str(text)]:
                    report.info(text)
                case ["warn", str(text)]:
                    report.warn(text)
        if (code := await process.wait()) != 0:
            report.warn(
                f"The buckets of config.toml could not be loaded: their process ended with code {code}"
            )
    finally:
        with suppress(ProcessLookupError):
            if process.returncode is None:
                process.kill()
