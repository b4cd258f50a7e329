"""A page read as a session: its blocks run one after another, as a reader would paste them, and show what it says.

Blocks of `sh`, `sql`, `js` and `python` are run; a block of `text` right behind one shows lines of what it prints,  All other blocks are looked at by nobody here. What a block of `sh` sets
holds in the next one. `headwater psql` returns when the interface knows what it made.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import ROOT
from tests.platform import Platform

CLIENTS = ROOT / "tests" / "conformance"
LOCAL_URL = "http://127.0.0.1:54321"
_BLOCKS = re.compile(
    r"^```(sh|sql|js|python)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
_QUESTION = re.compile(r'curl -s "[^"]*"( -H "[^"]*")*\n')
_LIMIT_S, _PATIENCE_S = 120, 20
_HEADWATER = """
headwater() {{
  case $1 in start) set -- "$@" --port {port} ;; esac
  {python} -P -m services.cli.main "$@" {where} || return
  case $1 in psql) settle ;; esac
}}
settle() {{
  mark=settled_$RANDOM$RANDOM
  {python} -P -m services.cli.main psql {where} -q -c "create table public.$mark (id int)"
  for try in $(seq 300); do
    test "$(curl -s -o /dev/null -w '%{{http_code}}' {url}/rest/v1/$mark?limit=0 -H "apikey: {key}")" != 404 && break
    sleep 0.1
  done
}}
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A block of a page, and the lines that it shows."""

    kind: str
    text: str
    shows: tuple[str, ...]


def steps(page: str) -> list[Step]:
    """List the blocks of a page that are run."""
    return [Step(kind, text, tuple(shown.splitlines())) for kind, text, shown in _BLOCKS.findall(page)]


def walk(page: Path, place: Platform, folder: Path, *, without: Collection[str] = ()) -> None:
    """Run a page's blocks in a folder, but for those that hold one of the texts of `without`."""
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(clients())
    found = steps(page.read_text(encoding="utf-8"))
    assert found, f"{page.name} has nothing to run"
    for text in without:
        assert any(text in each.text for each in found), f"{page.name} has no block with {text!r}"
    for step in found:
        if not any(text in step.text for text in without):
            _try(step, place, folder)


def clients() -> Path:
    """Give the folder of the official JavaScript clients, in the versions that the tests pin."""
    if not (CLIENTS / "node_modules" / "ws").exists():
        command = ["npm", "ci", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=CLIENTS, check=True, capture_output=True, timeout=180)
    return CLIENTS / "node_modules"


def run(step: Step, place: Platform, folder: Path) -> str:
    """Run one block and give what it printed."""
    text = step.text.replace(LOCAL_URL, place.values.get("API_URL", LOCAL_URL))
    if step.kind == "sql":
        (folder / "block.sql").write_text(text)
        return _run(
            ["bash", "-c", _shell(place, folder, "headwater psql -v ON_ERROR_STOP=1 -f block.sql")],
            place,
            folder,
        )
    if step.kind == "js":
        (folder / "block.mjs").write_text(_with_sockets(text))
        return _run(["node", "block.mjs"], place, folder)
    if step.kind == "python":
        return _run([sys.executable, "-c", text], place, folder)
    return _run(["bash", "-c", _shell(place, folder, text)], place, folder)


def _shell(place: Platform, folder: Path, text: str) -> str:
    where = f"--data {shlex.quote(str(place.data))} --project {shlex.quote(str(folder))}"
    state = shlex.quote(str(folder / ".shell"))
    head = _HEADWATER.format(
        python=shlex.quote(sys.executable), where=where, url=place.values.get("API_URL"),
        key=place.values.get("ANON_KEY"), port=place.port,
    )  # fmt: skip
    return f"{head}\nset -a\n[ -f {state} ] && . {state}\nset -e -o pipefail\n{text}\nexport -p >{state}\n"


def _with_sockets(script: str) -> str:
    """Give a script the WebSocket that Node 20 lacks; the client asks for one even where it is not used."""
    return f"import WebSocket from 'ws'\nglobalThis.WebSocket ??= WebSocket\n{script}"


def _run(argv: list[str], place: Platform, folder: Path) -> str:
    environment = {**os.environ, **place.values, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=_LIMIT_S, check=False
    )
    assert done.returncode == 0, f"{argv[-1]}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _try(step: Step, place: Platform, folder: Path) -> None:
    """Run a step and look at what it shows; a mere question is asked again, as a reader would, if the answer is yet to come."""
    deadline = time.monotonic() + (_PATIENCE_S if _QUESTION.fullmatch(step.text) else 0)
    while True:
        try:
            return _shows(step, run(step, place, folder))
        except AssertionError:
            if time.monotonic() > deadline:
                raise


def _shows(step: Step, output: str) -> None:
    rest = output
    for shown in step.shows:
        assert shown in rest, f"{shown!r} is not shown, or not in its place, by\n{step.text}\n{output}"
        rest = rest.partition(shown)[2]
