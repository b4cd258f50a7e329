"""The accounts under load: sign-ins against argon2id alone, refreshes, the user, with CPU per request by process.

    python -m tests.bench.auth [--connections 1,32] [--seconds 3] [--repeat 3] [--workloads sign_in,refresh,user]

It starts a platform of its own without rate limits. Every refresh is the first use of its token: the sessions are made
beforehand, so that all of them rotate. `--workers 2` adds a second process of workers.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import asyncpg
from argon2 import PasswordHasher
from nacl.pwhash import argon2id

from schemas.settings.auth import Argon2
from tests.bench.load import drive, http
from tests.bench.table import HEADING, Budget, Figures, Run, add_record_option, run, show
from tests.child_environment import environment_of
from tests.platform import Platform, platform
from workers.auth.accounts.sessions.refresh import issue_token, read_key
from workers.auth.accounts.sessions.session_keys import new_session_key
from workers.auth.model.vault import Vault, read_vault

SETTINGS = {
    "HEADWATER_AUTH_RATE_LIMIT_TOKEN_REFRESH": "0",
    "HEADWATER_AUTH_RATE_LIMIT_SIGN_IN_SIGN_UPS": "0",
}
BUDGETS = (
    Budget("sign_in at 8: CPU of the hash to ours", 0.92, is_least=True),
    Budget("sign_in at 32: CPU of the hash to ours", 0.92, is_least=True),
    Budget("refresh at 32: CPU", 0.8),
    Budget("user at 32: CPU", 0.35),
)
"""What is wanted; the hash is that of libsodium alone, by which a sign-in verifies a password."""
PASSWORD = "over the river"
USERS = 50
CORES = len(os.sched_getaffinity(0))


Alone = tuple[float, float]
"""Hashes a second, and the CPU milliseconds of each."""


def hashed_alone(verify: Callable[[], object], seconds: float) -> Alone:
    """Give how many passwords a library alone verifies a second, one thread a core, and the CPU milliseconds of each."""
    done = [0] * CORES
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        while time.monotonic() < end:
            verify()
            done[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CORES)]
    began = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / seconds, (time.process_time() - began) / sum(done) * 1000


def libraries() -> dict[str, Callable[[], object]]:
    """Give how argon2-cffi and libsodium, which a sign-in uses, verify a password at the cost of the settings."""
    cost = Argon2()
    hasher = PasswordHasher(cost.time_cost, cost.memory_cost, cost.parallelism)
    stored = hasher.hash(PASSWORD)
    coded, secret = stored.encode(), PASSWORD.encode()
    return {
        "argon2-cffi": lambda: hasher.verify(stored, PASSWORD),
        "libsodium": lambda: argon2id.verify(coded, secret),
    }


def post(host: str, headers: dict[str, str], path: str, value: object) -> bytes:
    """Give the bytes of a request with a JSON body."""
    return http("POST", f"/auth/v1{path}", host, headers, json.dumps(value).encode())


def signed_up(one: Platform) -> list[tuple[str, str]]:
    """Make the users; give their addresses and access tokens."""
    made = []
    for number in range(USERS):
        email = f"person-{number}@example.org"
        asked = urllib.request.Request(
            f"{one.url}/auth/v1/signup",
            json.dumps({"email": email, "password": PASSWORD}).encode(),
            {"apikey": one.values["ANON_KEY"], "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:
            made.append((email, str(json.load(answer)["access_token"])))
    return made


async def sessions(database_url: str, count: int, vault: Vault) -> list[str]:
    """Make sessions as sign-ins start them, and give a refresh token of each."""
    connection = await asyncpg.connect(database_url)
    users: list[UUID] = [row["id"] for row in await connection.fetch("select id from auth.users order by id")]
    rows, tokens = [], []
    for number in range(count):
        id = uuid4()
        key, stored = new_session_key(vault, id)
        rows.append((id, users[number % len(users)], stored))
        tokens.append(issue_token(id, 0, read_key(key)))
    await connection.executemany(
        "insert into auth.sessions (id, user_id, created_at, updated_at, aal, refresh_token_hmac_key, "
        "refresh_token_counter) values ($1, $2, now(), now(), 'aal1', $3, 0)",
        rows,
    )
    await connection.executemany(
        "insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method) "
        "values (gen_random_uuid(), $1, now(), now(), 'password')",
        [(id,) for id, *_ in rows],
    )
    await connection.close()
    return tokens


@contextmanager
def more_workers(one: Platform, count: int) -> Iterator[list[int]]:
    """Run further processes of account workers beside those of the platform; give their numbers."""
    environment = environment_of(one, "pools")
    running = [
        subprocess.Popen([sys.executable, "-P", "-m", "workers", "auth"], env=environment)
        for _ in range(count)
    ]
    try:
        yield [each.pid for each in running]
    finally:
        for each in running:
            each.terminate()
            each.wait(30)


def measure(one: Platform, options: argparse.Namespace, more: list[int], figures: Figures) -> None:
    """Measure every workload, and print its line."""
    people = signed_up(one)
    host, address = f"127.0.0.1:{one.port}", ("127.0.0.1", one.port)
    key = {"apikey": one.values["ANON_KEY"]}
    vault = read_vault(one.sealing_settings)

    def sign_in() -> list[bytes]:
        return [
            post(host, key, "/token?grant_type=password", {"email": email, "password": PASSWORD})
            for email, _ in people
        ]

    def refresh() -> list[bytes]:
        url, count = one.login_url("supabase_auth_admin"), int(options.seconds * 3000)
        tokens = asyncio.run(sessions(url, count, vault))
        return [
            post(host, key, "/token?grant_type=refresh_token", {"refresh_token": each}) for each in tokens
        ]

    def user() -> list[bytes]:
        return [
            http("GET", "/auth/v1/user", host, {**key, "Authorization": f"Bearer {token}"})
            for _, token in people
        ]

    known: dict[str, Callable[[], list[bytes]]] = {"sign_in": sign_in, "refresh": refresh, "user": user}
    print(HEADING)
    for name in options.workloads.split(",") if options.workloads else known:
        for connections in map(int, options.connections.split(",")):
            drive(address, sign_in() if name == "sign_in" else user(), connections, 0.5)
            alone, runs = dict[str, list[Alone]](), list[Run]()
            for _ in range(options.repeat):
                for library, verify in libraries().items() if name == "sign_in" else ():
                    alone.setdefault(library, []).append(hashed_alone(verify, options.seconds))
                runs.append(run(one, address, known[name](), connections, options.seconds, more))
            show(name, connections, runs, figures)
            for library, hashes in alone.items():
                ratio = compare(library, hashes, runs)
                if library == "libsodium":
                    figures.add(f"{name} at {connections}: CPU of the hash to ours", ratio, "x")


def compare(library: str, alone: list[Alone], runs: list[Run]) -> float:
    """Print sign-ins beside hashes alone, each run against those right before it; return the ratio of their CPU."""
    median = statistics.median
    rates = [outcome.per_second / each[0] for each, (outcome, _) in zip(alone, runs, strict=True)]
    costs = [each[1] / sum(parts.values()) for each, (_, parts) in zip(alone, runs, strict=True)]
    print(
        f"   {library} alone on {CORES} cores: {median(each[0] for each in alone):.1f}/s, "
        f"{median(each[1] for each in alone):.1f} ms CPU each; sign-ins to hashes: {median(rates):.2f} a second, "
        f"{median(costs):.2f} by CPU ({min(costs):.2f} to {max(costs):.2f})"
    )
    return median(costs)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workloads", default="", help="comma separated; default: all")
    parser.add_argument("--connections", default="1,32", help="comma separated numbers of connections")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each cell; the median is printed")
    parser.add_argument("--workers", type=int, default=1, help="processes that answer for the accounts")
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("auth", BUDGETS)
    with platform(environment=SETTINGS) as one, more_workers(one, options.workers - 1) as more:
        measure(one, options, more, figures)
    figures.finish(options.record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
