"""Peers are installed once, into a folder that is kept in the cache of the user: npm packages and Go modules."""

import re
import shutil
import subprocess
from pathlib import Path

from tests.bench.postgraphile import CACHE as _POSTGRAPHILE

CACHE = _POSTGRAPHILE.parent
_TIMEOUT_S = 1800
_SIGNS = ("could not be found", "not available", "requires", "not found")
_ADDRESS = re.compile(r"\S*(?:https?://|\w\.\w+/)\S*")


class PeerUnavailable(Exception):
    """A peer cannot be had here: a tool is missing, or a registry does not have it."""


def npm_package(folder: str, *packages: str) -> Path:
    """Return the folder where packages of npm are installed. Raises: PeerUnavailable."""
    path = CACHE / folder
    names = [package.rpartition("@")[0] or package for package in packages]
    if not all((path / "node_modules" / name).is_dir() for name in names):
        path.mkdir(parents=True, exist_ok=True)
        options = ["--no-fund", "--no-audit", "--no-package-lock", "--prefix", "."]
        _run(["npm", "install", *options, *packages], path)
    return path


def go_program(folder: str, module: str, version: str, source: str) -> Path:
    """Return a program that is built of one file over a Go module. Raises: PeerUnavailable.

    A version that needs a newer Go than the machine has cannot be had: no other one is fetched.
    """
    path = CACHE / folder
    program = path / f"{folder}-{version}"
    if not program.exists():
        path.mkdir(parents=True, exist_ok=True)
        (path / "main.go").write_text(source)
        if not (path / "go.mod").exists():
            _run(["go", "mod", "init", "bench"], path)
        _run(["go", "get", f"{module}@{version}"], path)
        _run(["go", "mod", "tidy"], path)
        _run(["env", "CGO_ENABLED=0", "go", "build", "-o", str(program), "."], path)
    return program


def _run(command: list[str], folder: Path) -> None:
    tool = command[2] if command[0] == "env" else command[0]
    if shutil.which(tool) is None:
        raise PeerUnavailable(f"{tool} is not installed")
    print(f"   {' '.join(command[:3])} ... (once)", flush=True)
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        raise PeerUnavailable(reason(done.stderr))


def reason(output: str) -> str:
    """Return the line of a tool's errors that says what is missing, else the last one, without addresses."""
    lines = [_ADDRESS.sub("", line).strip(" :-\t") for line in output.splitlines()]
    words = [" ".join(line.split()) for line in lines if line]
    telling = [line for line in words if any(sign in line for sign in _SIGNS)]
    if not words:
        return "it failed without a message"
    return (telling[0] if telling else words[-1]).removeprefix("npm error 404 ")
