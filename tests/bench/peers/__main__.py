"""Headwater beside its peers: the same work in turns on one machine, in one run of some minutes.

    python -m tests.bench.peers [--seconds 2] [--repeat 3] [--only pocketbase,by-hand,postgraphile,sharp] [--record]

PocketBase is built from its Go module; PostGraphile, sharp and what the server written by hand is made of come from npm. What a registry does not have is left out by
name. Every side answers before anything is measured and its rows or bytes are compared; rows that were acknowledged are
counted afterwards. CPU is that of all processes of a side. PocketBase has one process and SQLite; it does not wait for the
disk at a commit, as Headwater does. Lines with "both durable" (`synchronous = FULL` there) and "none durable"
(`synchronous_commit = off` here) compare writes under equal durability.
"""

import argparse
import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterable

from tests.bench import graphql
from tests.bench.cpu import groups_of
from tests.bench.peers import pairs, pictures
from tests.bench.peers.by_hand import ByHand
from tests.bench.peers.fastify import PACKAGES, running_fastify
from tests.bench.peers.installation import PeerUnavailable, reason
from tests.bench.peers.pocketbase import running_pocketbase
from tests.bench.peers.records import SETTINGS, Records, Work, driven, load
from tests.bench.postgraphile import PEER, PostGraphile, postgraphile
from tests.bench.table import Figures, add_record_option
from tests.platform import Platform, platform

NOT_PUBLISHED = {
    "the reference storage server": ["npm", "view", "@supabase/storage-api", "version"],
    "GoTrue": ["go", "list", "-m", "github.com/supabase/auth@latest"],
}
"""Peers that no registry had when this was written, and how to ask whether it has them now."""
NO_REGISTRY = {"PostgREST": "its releases are binaries of its own and Haskell packages"}
_ASK_S = 60


def _left_out() -> dict[str, str]:
    """Return the peers that cannot be had, with the reasons."""
    reasons = dict(NO_REGISTRY)
    for name, command in NOT_PUBLISHED.items():
        if shutil.which(command[0]) is None:
            reasons[name] = f"{command[0]} is not installed"
            continue
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_S, check=False)
        reasons[name] = (
            f"{command[0]}: {reason(done.stderr)}"
            if done.returncode
            else f"published meanwhile as {done.stdout.strip()}: this benchmark has no driver for it yet"
        )
    return reasons


def _pocketbase(options: argparse.Namespace, figures: Figures) -> None:
    with platform(environment=SETTINGS) as one:
        load(one)
        with running_pocketbase() as other:
            figures.notes["PocketBase"] = other.version
            records = Records(one, other)
            _show_works("PocketBase", records.works(), options, figures)
            _show_works("PocketBase", records.hasty_works(), options, figures)
        with running_pocketbase("FULL") as other:
            _show_works("PocketBase", Records(one, other).durable_works(), options, figures)


def _by_hand(options: argparse.Namespace, figures: Figures) -> None:
    figures.notes["by hand"] = ", ".join(PACKAGES)
    with platform() as one:
        load(one)
        with running_fastify(one.login_url("authenticator"), one.values["JWT_SECRET"]) as other:
            _show_works("by hand", ByHand(one, other).works(), options, figures)


def _show_works(peer: str, works: Iterable[Work], options: argparse.Namespace, figures: Figures) -> None:
    for name, ours, theirs in works:
        pairs.show(pairs.in_turns(peer, name, ours, theirs, options.seconds, options.repeat), figures)


def _postgraphile(options: argparse.Namespace, figures: Figures) -> None:
    figures.notes["PostGraphile"] = PEER.partition("@")[2]
    with platform() as one:
        asyncio.run(graphql.prepare(one.values["DB_URL"]))
        one.wait_for_catalog("post")
        with postgraphile(one.login_url("authenticator"), one.values["JWT_SECRET"]) as other:
            both = graphql.Pair("PostGraphile", *graphql.user_headers(one), other)
            for name in graphql.OURS:
                ours, theirs = _graphql_sides(one, other, both, name)
                pair = pairs.in_turns("PostGraphile", name, ours, theirs, options.seconds, options.repeat)
                pairs.show(pair, figures)


def _graphql_sides(
    one: Platform, other: PostGraphile, both: graphql.Pair, name: str
) -> tuple[pairs.Side, pairs.Side]:
    """Return the sides of a query of a user; PostGraphile's is its process and the Postgres that both ask."""
    graphql.check_rows(one, both, name)
    ours = graphql.requests(graphql.our_url(one), graphql.OURS[name], both.ours)
    theirs = graphql.requests(other.url, graphql.THEIRS[name], both.theirs)

    def there_driven(seconds: float) -> pairs.Sample:
        postgres = [pid for pid, group in groups_of([one.pid]).items() if group == "postgres"]
        return driven(("127.0.0.1", other.port), theirs, [other.pid, *postgres], 32, seconds)

    return lambda seconds: driven(("127.0.0.1", one.port), ours, [one.pid], 32, seconds), there_driven


def _sharp(options: argparse.Namespace, figures: Figures) -> None:
    figures.notes["sharp"] = pictures.PACKAGE.partition("@")[2]
    for pair in pictures.compare(options.repeat):
        pairs.show(pair, figures)


_PEERS = {"pocketbase": _pocketbase, "by-hand": _by_hand, "postgraphile": _postgraphile, "sharp": _sharp}


def main() -> int:
    """Run the benchmark; a peer that cannot be had is named; 1 where one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="pairs of runs of each piece of work")
    parser.add_argument("--only", default=",".join(_PEERS), help="comma separated")
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("peers")
    is_well = True
    print(pairs.HEADING)
    for name in options.only.split(","):
        try:
            _PEERS[name](options, figures)
        except PeerUnavailable as error:
            figures.notes[name] = f"left out: {error}"
        except (SystemExit, subprocess.SubprocessError) as error:
            figures.notes[name], is_well = f"failed: {error}", False
    for name, text in _left_out().items():
        figures.notes[name] = f"left out: {text}"
    for name, text in figures.notes.items():
        print(f"{name}: {text}")
    figures.finish(options.record)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
