"""Postgres' own tools, from the folder that `HEADWATER_POSTGRES_TOOLS` names, else from the path."""

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from workers.backup.manifest import BackupError

TOOLS = "HEADWATER_POSTGRES_TOOLS"
_TOLD = 30


async def run_tool(
    name: str,
    url: str,
    words: Sequence[str],
    environment: Mapping[str, str] = os.environ,
    *,
    options: str = "",
    forgives: Callable[[str], bool] = lambda _: False,
) -> str:
    """Run a tool on a database and give what it complained of. The password stands in no list of processes.

    `options` are settings of its session (PGOPTIONS; a superuser's: superuser_options). `forgives` judges the whole of what
    it complained of where it ended with an error. Raises: BackupError if it fails.
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
        *words,
        f"--dbname={target}",
        env=passed,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, said = await process.communicate()
    except BaseException:
        if process.returncode is None:
            process.kill()
            await process.wait()
        raise
    text = said.decode(errors="replace").strip()
    if process.returncode != 0 and not forgives(text):
        raise BackupError(f"{name} failed:\n" + "\n".join(text.splitlines()[-_TOLD:]))
    return text


async def contents(dump: Path, environment: Mapping[str, str] = os.environ) -> str:
    """Give the list of what a dump has, as `pg_restore --list` writes it. Raises: BackupError if it is none."""
    return await _printed(["--list", str(dump)], dump, environment)


async def script_of(dump: Path, listed: Path, environment: Mapping[str, str] = os.environ) -> str:
    """Give the SQL of a part of a dump, which a file lists. Raises: BackupError if it cannot be read."""
    return await _printed([f"--use-list={listed}", "--file=-", str(dump)], dump, environment)


async def _printed(words: Sequence[str], dump: Path, environment: Mapping[str, str]) -> str:
    passed = {key: environment[key] for key in ("PATH", "HOME", "LD_LIBRARY_PATH") if key in environment}
    process = await asyncio.create_subprocess_exec(
        _program("pg_restore", environment),
        *words,
        env=passed,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, said = await process.communicate()
    if process.returncode != 0:
        raise BackupError(f"{dump} cannot be read: {said.decode(errors='replace').strip()}")
    return printed.decode(errors="replace")


def extensions_in(listed: str) -> set[str]:
    """Give the extensions that a dump makes, from its list: lines such as `3; 3079 16384 EXTENSION - pgcrypto`."""
    return {
        line.split(" EXTENSION - ", 1)[1].strip()
        for line in listed.splitlines()
        if " EXTENSION - " in line and " COMMENT - " not in line
    }


def _program(name: str, environment: Mapping[str, str]) -> str:
    own = Path(environment.get(TOOLS, "")) / name
    found = str(own) if environment.get(TOOLS) and own.exists() else shutil.which(name)
    if not found:
        raise BackupError(f"{name} is not here. Install Postgres' client programs of the server's version.")
    return found
