"""How long a platform takes to come up, and what it costs while nobody asks for anything.

    python -m tests.bench.start [--migrations 100] [--seconds 20]

cold    a new data folder, packages installed: initdb, the platform's schemas, all migrations
warm    the same folder again, nothing pending
reset   `headwater db reset` of all migrations
idle    CPU as seconds a second; memory: `tests.bench.memory`

The machine should be idle.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tests.bench.cpu import difference, groups_of, spent
from tests.bench.table import Budget, Figures, add_record_option
from tests.platform import free_port, headwater

_MIGRATION = """\
create table public.t_{n} (
  id bigint generated always as identity primary key, owner uuid references auth.users, title text not null,
  at timestamptz not null default now()
);
create index on public.t_{n} (owner);
alter table public.t_{n} enable row level security;
create policy own on public.t_{n} for all to authenticated using ((select auth.uid()) = owner);
create function public.f_{n}(a int) returns bigint language sql stable as $$ select count(*) + a from public.t_{n} $$;
"""
BUDGETS = (Budget("cold", 60), Budget("warm", 3), Budget("reset", 5))


class Project:
    """A project folder with many migrations, and its platform."""

    def __init__(self, root: Path, migrations: int) -> None:
        self.root, self.port = root, free_port()
        folder = root / "supabase" / "migrations"
        folder.mkdir(parents=True)
        for number in range(migrations):
            path = folder / f"{20240101000000 + number}_t_{number}.sql"
            path.write_text(_MIGRATION.format(n=number))

    def run(self, *words: str) -> float:
        """Run a command and give its seconds. Raises: SystemExit with its words if it fails."""
        began = time.perf_counter()
        done: subprocess.CompletedProcess[str] = headwater(*words, "--project", str(self.root))
        if done.returncode != 0:
            sys.exit(done.stderr)
        return time.perf_counter() - began

    def start(self) -> float:
        """Start the platform and give its seconds, until the command has returned."""
        return self.run("start", "--detach", "--port", str(self.port))

    def roots(self) -> list[int]:
        """Give the supervisor's process id; all others are below it."""
        return [int(json.loads((self.root / ".headwater" / "state.json").read_text())["pid"])]


def settled(roots: list[int], patience: float = 60.0) -> None:
    """Wait until the platform has come to rest: its processes use less than a tenth of a core over a second."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if sum(idle(roots, 1.0).values()) < 0.1:
            return


def idle(roots: list[int], seconds: float) -> dict[str, float]:
    """Give the CPU of each group of processes over a span, as seconds a second."""
    pids = groups_of(roots)
    before, began = spent(pids), time.perf_counter()
    time.sleep(seconds)
    after, took = spent(pids), time.perf_counter() - began
    return {group: used / took for group, used in difference(before, after, pids).items()}


def main() -> int:
    """Measure and print; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--migrations", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0)
    add_record_option(parser)
    wanted = parser.parse_args()
    table = Figures("start", BUDGETS)
    root = Path(tempfile.mkdtemp(prefix="headwater-bench-"))
    root.chmod(0o755)
    project = Project(root, wanted.migrations)
    print(f"load average {psutil.getloadavg()[0]:.1f}, {wanted.migrations} migrations")
    try:
        figures = {"cold": project.start()}
        project.run("stop")
        figures["warm"] = project.start()
        used = spent(groups_of(project.roots()))
        print(
            f"CPU of a warm start: {sum(used.values()):.2f} s in the processes that stay, whatever else the machine does"
        )
        figures["reset"] = project.run("db", "reset")
        for name, seconds in figures.items():
            table.add(name, seconds, "s")
        roots = project.roots()
        settled(roots)
        used = idle(roots, wanted.seconds)
        table.add("idle CPU", 100 * sum(used.values()), "% of a core")
        print(
            f"idle   {100 * sum(used.values()):6.2f} % of a core  {', '.join(f'{name} {100 * share:.2f}' for name, share in used.items())}"
        )
    finally:
        headwater("stop", "--project", str(root))
        shutil.rmtree(root, ignore_errors=True)
    return 0 if table.finish(wanted.record) else 1


if __name__ == "__main__":
    sys.exit(main())
