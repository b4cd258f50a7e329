"""Runs Postgres' client programs, from the folder in `HEADWATER_POSTGRES_TOOLS`, else from the search path."""

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from workers.backup.manifest import BackupError

TOOLS = "HEADWATER_POSTGRES_TOOLS"
_ERROR_LINES = 30


async def run_tool(
    name: str,
    url: str,
    arguments: Sequence[str],
    environment: Mapping[str, str] = os.environ,
    *,
    options: str = "",
    may_fail: Callable[[str], bool] = lambda _: False,
) -> str:
    """Run a tool on a database and return its standard error. The password is passed in the environment, not in the arguments.

    `options` are settings of its session (PGOPTIONS; for a superuser: superuser_options). If the tool ends with an error,
    `may_fail` gets its whole output and decides whether that is acceptable. Raises: BackupError if it fails.
    """
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    user = f"{parts.username}@" if parts.username else ""
    passed = {key: environment[key] for key in ("PATH", "HOME", "LD_LIBRARY_PATH") if key in environment}
    if parts.password:
        passed["PGPASSWORD"] = unquote(parts.password)
    if options:
        passed["PGOPTIONS"] = options
    target = urlunsplit(parts._replace(netloc=user + place))
    process = await asyncio.create_subprocess_exec(
        _program(name, environment),
        *arguments,
        f"--dbname={target}",
        env=passed,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, stderr = await process.communicate()
    except BaseException:
        if process.returncode is None:
            process.kill()
            await process.wait()
        raise
    text = stderr.decode(errors="replace").strip()
    if process.returncode != 0 and not may_fail(text):
        raise BackupError(f"{name} failed:\n" + "\n".join(text.splitlines()[-_ERROR_LINES:]))
    return text


async def list_entries(dump: Path, environment: Mapping[str, str] = os.environ) -> str:
    """Return the list of a dump's entries, as `pg_restore --list` writes it. Raises: BackupError if it is not a dump."""
    return await _run_pg_restore(["--list", str(dump)], dump, environment)


async def script_for(dump: Path, listed: Path, environment: Mapping[str, str] = os.environ) -> str:
    """Return the SQL of those entries of a dump that the file `listed` names. Raises: BackupError if it cannot be read."""
    return await _run_pg_restore([f"--use-list={listed}", "--file=-", str(dump)], dump, environment)


async def _run_pg_restore(arguments: Sequence[str], dump: Path, environment: Mapping[str, str]) -> str:
    passed = {key: environment[key] for key in ("PATH", "HOME", "LD_LIBRARY_PATH") if key in environment}
    process = await asyncio.create_subprocess_exec(
        _program("pg_restore", environment),
        *arguments,
        env=passed,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, stderr = await process.communicate()
    if process.returncode != 0:
        raise BackupError(f"{dump} cannot be read: {stderr.decode(errors='replace').strip()}")
    return printed.decode(errors="replace")


def extensions_in(listed: str) -> set[str]:
    """Return the extensions that a dump creates, from its list: lines such as `3; 3079 16384 EXTENSION - pgcrypto`."""
    return {
        line.split(" EXTENSION - ", 1)[1].strip()
        for line in listed.splitlines()
        if " EXTENSION - " in line and " COMMENT - " not in line
    }


def _program(name: str, environment: Mapping[str, str]) -> str:
    in_folder = Path(environment.get(TOOLS, "")) / name
    program = str(in_folder) if environment.get(TOOLS) and in_folder.exists() else shutil.which(name)
    if not program:
        raise BackupError(f"{name} is not here. Install Postgres' client programs of the server's version.")
    return program
