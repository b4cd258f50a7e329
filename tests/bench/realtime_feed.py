"""What the feed costs: changes judged per second, and CPU of the edge for each, with many subscribers to one table.

    python -m tests.bench.realtime_feed [--subscribers 1000] [--changes 20000]

Each change is a transaction of its own with one row of one random user. `judged` hands the encoded messages to the
pipeline (decode, rights, filter, rule, JSON, delivery); `replayed` reads them from a real stream through a lane;
`live` is the time from the publishing of a message to its delivery, on a quiet broker.
"""

import argparse
import asyncio
import random
import statistics
import time
from uuid import UUID

import uvloop

from broker import subjects
from broker.codec import encode
from broker.jetstream.ordered_publisher import OrderedPublisher
from broker.jetstream.streams import StreamLimits, create_stream
from broker.nats.connection import NatsConnection
from broker.nats.protocol import headers
from broker.requests.call import Calls
from schemas.changes import Position
from schemas.realtime import ChangeSubscription, ClaimRule, Rule, SqlRule
from schemas.settings.realtime import RealtimeSettings
from services.realtime.changes.feed import ChangeFeed, open_feed
from services.realtime.changes.intake import admit, order
from services.realtime.changes.interface import Delivery
from tests.broker.server import running_server
from tests.services.realtime.changes.listener import ALL
from tests.services.realtime.changes.log import Log, inserted
from tests.services.realtime.changes.pool import Pool, running_pool, table

_FILTERED, _OWN, _SQL = "equality filter", "rule user_id = auth.uid()", "one group, by SQL"


class _Counter:
    """A subscriber that counts."""

    def __init__(self, user: str | None) -> None:
        self.role = "authenticated" if user else "anon"
        self.claims = encode_claims(user)
        self.count = 0
        self.at = 0.0

    def deliver(self, delivery: Delivery) -> None:
        del delivery
        self.count += 1
        self.at = time.perf_counter()

    def gap(self, since: Position | None) -> None:
        raise AssertionError(since)


def encode_claims(user: str | None) -> bytes:
    """Give the claims of a user, or of nobody."""
    return b'{"role":"authenticated","sub":"%b"}' % user.encode() if user else b'{"role":"anon"}'


async def _measure(
    url: str, pool: Pool, log: Log, case: str, count: int, payloads: list[bytes], users: list[str]
) -> None:
    rules: dict[str, Rule | None] = {
        _FILTERED: None,
        _OWN: ClaimRule("user_id", ["sub"], "uuid"),
        _SQL: SqlRule(),
    }
    pool.tables["authenticated", "items"] = pool.tables["anon", "items"] = table(rules[case])
    connection = await NatsConnection.open(url, name="bench")
    feed = await open_feed(connection, Calls(connection), RealtimeSettings())
    people = [_Counter(None if case == _SQL else users[number]) for number in range(count)]
    for person, user in zip(people, users, strict=False):
        entry = ChangeSubscription("*", "public", "items", f"user_id=eq.{user}") if case == _FILTERED else ALL
        await feed.subscribe(person, [entry], [1], None)
    await _judged(feed, people, case, payloads)
    resumer = _Counter(None if case == _SQL else users[0])
    began, cpu = time.perf_counter(), time.process_time()
    await feed.subscribe(resumer, [ALL], [1], Position(1))
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(
        f"  replayed {len(payloads) / took:9.0f} changes/s  {cpu / len(payloads) * 1e6:7.1f} us CPU a change"
    )
    if case != _SQL:
        await _live(log, people[0], users[0])
    await feed.close()
    await connection.close()


async def _judged(feed: ChangeFeed, people: list[_Counter], case: str, payloads: list[bytes]) -> None:
    some = payloads if case != _SQL else payloads[:500]
    live = feed.live
    admit(live, live.admitted, payloads[0])
    await live.reached()  # the rights are known now
    before = sum(person.count for person in people)
    began, cpu = time.perf_counter(), time.process_time()
    for payload in some:
        await live.wait_for_space()
        admit(live, feed.intake.reached + 1, payload)
    await live.reached()
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    delivered = sum(person.count for person in people) - before
    print(
        f"{case}, {len(people)} subscribers\n  judged   {len(some) / took:9.0f} changes/s  "
        f"{cpu / len(some) * 1e6:7.1f} us CPU a change  ({delivered / len(some):.2f} deliveries each)"
    )


async def _live(log: Log, person: _Counter, user: str) -> None:
    delays = []
    for number in range(300):
        before = person.count
        batch = log.batch(inserted(number, user))
        payload = encode(batch)
        sent = time.perf_counter()
        head = headers({"Nats-Msg-Id": f"{batch.lsn:x}-0"})
        log.connection.publish(subjects.changes("public", "items").name, payload, head=head)
        while person.count == before:
            await asyncio.sleep(0)
        delays.append((person.at - sent) * 1000)
        await asyncio.sleep(0.002)
    delays.sort()
    print(
        f"  live     p50 {statistics.median(delays):.2f} ms  p99 {delays[-4]:.2f} ms from publishing to delivery"
    )


async def _publish(log: Log, payloads: list[tuple[int, bytes]]) -> None:
    async with OrderedPublisher(
        log.connection, subjects.CHANGES_STREAM, order=order, last_seq=0, last_id="", confirmed=0
    ) as ordered:
        for lsn, payload in payloads:
            await ordered.publish(
                subjects.changes("public", "items").name, payload, id=f"{lsn:x}-0", mark=lsn
            )
        await ordered.settled()


async def _run(subscribers: int, changes: int) -> None:
    users = [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(subscribers)]
    async with running_server() as server, running_pool(server.url) as pool:
        connection = await NatsConnection.open(server.url, name="bench log")
        log = Log(connection)
        await create_stream(
            connection, StreamLimits(subjects.CHANGES_STREAM, subjects.CHANGES_SUBJECTS, 900.0, 1 << 30), {}
        )
        batches = [log.batch(inserted(number, random.choice(users))) for number in range(changes)]
        payloads = [encode(batch) for batch in batches]
        await _publish(log, [(batch.lsn, payload) for batch, payload in zip(batches, payloads, strict=True)])
        for case in (_OWN, _FILTERED, _SQL):
            await _measure(server.url, pool, log, case, subscribers, payloads, users)
        await connection.close()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscribers", type=int, default=1000)
    parser.add_argument("--changes", type=int, default=20_000)
    options = parser.parse_args()
    uvloop.run(_run(options.subscribers, options.changes))


if __name__ == "__main__":
    main()
