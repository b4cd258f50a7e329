"""What programs compile while they load is stored once for an installation that starts may not write into."""

import os
import subprocess
import sys
from pathlib import Path

from services.supervisor.processes.plan import CHANGES_POOLS, EDGES, POOLS, SINGLE_POOLS, STREAMS_POOL

ROOT = Path(__file__).parents[3]
_POOLS = [name for name in POOLS if name not in (*SINGLE_POOLS, *CHANGES_POOLS, STREAMS_POOL)]
_PROGRAMS = [
    ["workers", *_POOLS],
    ["workers", *CHANGES_POOLS],
    ["workers", "images"],
    ["workers.functions.placeholder"],
    ["services", *EDGES],
]
_LOADS = {
    "programs": f"from broker.processes import fork_server; fork_server.load_programs({_PROGRAMS})",
    "migrate": "import workers.__main__ as workers; workers.load_migrate()",
    "commands": "from services.cli.main import main; main.get_command(None, 'start')",
}
_COUNTED = """
from broker.processes.definition_cache import DefinitionCache
added, add = [], DefinitionCache.add
DefinitionCache.add = lambda cache, key, value: (added.append(value), add(cache, key, value))
{load}
print(len(added))
"""


def _run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a folder of its own for compiled code."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder), "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [sys.executable, "-P", *words], env=environment, capture_output=True, text=True, timeout=300, check=False
    )  # fmt: skip


def test_programs_that_may_not_write_compile_nothing_of_what_was_stored(tmp_path: Path) -> None:
    stored = _run(tmp_path, "-m", "services.cli.main", "precompile")
    assert stored.returncode == 0, stored.stderr

    compiled = {
        name: int(_run(tmp_path, "-c", _COUNTED.format(load=load), PYTHONDONTWRITEBYTECODE="1").stdout)
        for name, load in _LOADS.items()
    }

    # The packages email and pem write some patterns from sets, in an order that differs in each process.
    assert {name: max(0, count - 10) for name, count in compiled.items()} == dict.fromkeys(_LOADS, 0)


def test_what_cannot_be_stored_is_an_error_that_says_who_can(tmp_path: Path) -> None:
    (tmp_path / "file").touch()  # in the place of a folder

    stored = _run(tmp_path / "file", "-m", "services.cli.main", "precompile")

    assert stored.returncode == 2
    assert "Run this as the owner of that folder" in stored.stderr
