"""A page read as a session: what stands in its blocks is run in a plain shell, nothing added.

- A block of `sh` is run in the page's one shell, so that what it sets holds in the next one. Its last command must succeed.
- A block of `sql`, `js` or `python` whose first line is a comment with a file name is saved under that name; the page runs it itself.
- A block of `text` right behind a block of `sh` is all that it prints. `...` in it stands for what differs from run to run; line ends are not
  compared, because several answers of curl print none between them.

The shell has no configuration file, no function and no variable of the platform, only those of the machine; and the ports are others, if the
page names the usual one. Between two blocks time passes, as for a reader: until the interface knows the tables of the block before.
"""

import os
import re
import shlex
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.platform import Platform

LOCAL_URL = "http://127.0.0.1:54321"
COMMANDS = Path(sys.executable).parent
"""The folder of the command `headwater`, as `make setup` installs it."""
_BLOCKS = re.compile(
    r"^```(sh|sql|js|python)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
_FILE = re.compile(r"(?://|--|#) ([\w.-]+\.(?:mjs|sql|py))\b.*\n")
_QUESTION = re.compile(r"curl -s [^\n]*\n")
_TROUBLE = re.compile(r"not found|No such file|Traceback|Error\b|ERROR:|unbound", re.MULTILINE)
_OURS = ("HEADWATER_", "GOTRUE_", "PYTHON", "VIRTUAL_ENV", "PYTEST")
_LIMIT_S, _PATIENCE_S = 120, 60


@dataclass(frozen=True, slots=True)
class Step:
    """A block of a page, and what it prints; None if the page does not show that."""

    kind: str
    text: str
    shows: str | None

    @property
    def file(self) -> str | None:
        """The name under which a reader saves it."""
        match = _FILE.match(self.text)
        return match[1] if match and self.kind != "sh" else None


def steps(page: str) -> list[Step]:
    """List the blocks of a page that are run or saved: those of `sh`, and those that name a file."""
    blocks = [Step(kind, text, shown or None) for kind, text, shown in _BLOCKS.findall(page)]
    return [step for step in blocks if step.kind == "sh" or step.file]


class PageShell:
    """One shell, from its first block to its last."""

    def __init__(self, folder: Path, environment: Mapping[str, str], shell: str = "sh") -> None:
        self._folder, self._errors = folder, folder / ".errors"
        machine = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        self._process = subprocess.Popen(
            [shell], cwd=folder, env={**machine, "npm_config_prefer_offline": "true", **environment},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def run(self, text: str) -> str:
        """Run a block as if it was pasted; return what it printed. Raises: AssertionError if it went wrong."""
        file, mark = self._folder / ".block.sh", f"end-{uuid.uuid4().hex}"
        file.write_text(text)
        assert self._process.stdin is not None
        line = f". {shlex.quote(str(file))} </dev/null 2>{shlex.quote(str(self._errors))}"
        self._process.stdin.write(f"{line}; printf '\\n%s %s\\n' {mark} \"$?\"\n")
        self._process.stdin.flush()
        output, code = self._until(mark)
        errors = self._errors.read_text()
        assert code == "0", f"exit code {code} of\n{text}\n{output}\n{errors}"
        assert not _TROUBLE.search(errors), f"{text}\n{output}\n{errors}"
        return output

    def close(self) -> None:
        """End the shell."""
        self._process.kill()
        self._process.communicate()

    def _until(self, mark: str) -> tuple[str, str]:
        """Read until the mark; return what stands before it, and the exit code beside it."""
        lines: list[str] = []
        watch = threading.Timer(_LIMIT_S, self._process.kill)
        watch.start()
        try:
            assert self._process.stdout is not None
            for line in self._process.stdout:
                if line.startswith(mark):
                    return "".join(lines).removesuffix("\n"), line.split()[1]
                lines.append(line)
        finally:
            watch.cancel()
        raise AssertionError(f"the shell ended\n{''.join(lines)}")


def walk(
    page: Path,
    running_platform: Platform,
    folder: Path,
    shell: str = "sh",
    *,
    is_pasted: bool = False,
    **environment: str,
) -> None:
    """Go through a page in a folder. `environment` is what the page says it expects; `is_pasted`: no time passes between its blocks."""
    todo = steps(page.read_text(encoding="utf-8"))
    assert todo, f"{page.name} has nothing to run"
    session = PageShell(folder, environment, shell)
    try:
        for step in todo:
            take(step, session, running_platform, folder, is_pasted=is_pasted)
    finally:
        session.close()


def take(
    step: Step, session: PageShell, running_platform: Platform, folder: Path, *, is_pasted: bool = False
) -> str:
    """Save or run one block; return what it printed. A mere question is asked again while its answer is yet to come."""
    text = step.text.replace(LOCAL_URL, running_platform.values.get("API_URL", LOCAL_URL))
    if step.file:
        (folder / step.file).write_text(text)
        return ""
    deadline = time.monotonic() + (_PATIENCE_S if _QUESTION.fullmatch(text) else 0)
    while True:
        try:
            output = session.run(text)
        except AssertionError:  # as `grep` that finds nothing yet
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.2)
            continue
        if step.shows is None or is_shown(step.shows, output):
            break
        assert time.monotonic() < deadline, f"the page shows\n{step.shows}\nand not\n{output}\nfor\n{text}"
        time.sleep(0.2)
    if "headwater psql" in text and not is_pasted:
        _let_time_pass(running_platform)
    return output


def is_shown(shows: str, output: str) -> bool:
    """Return whether a page shows all of an output (pure)."""
    pattern = r"\s*".join(
        ".*?".join(re.escape(part) for part in line.split("...")) for line in shows.strip().splitlines()
    )
    return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


def _let_time_pass(running_platform: Platform) -> None:
    """Wait until the interface knows all that was created before now."""
    name = f"settled_{uuid.uuid4().hex}"
    running_platform.psql(f"create table public.{name} (id int)")
    running_platform.wait_for_catalog(name)
    running_platform.psql(f"drop table public.{name}")
