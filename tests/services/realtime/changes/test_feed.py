"""The feed on a real broker: what reaches whom, in which order."""

import asyncio

from msgspec.structs import replace

from schemas.changes import ChangeKind, Position, RowChange
from schemas.realtime import ChangeSubscription, ClaimRule, NoRow, SqlRule, TableQuery, VisibilityQuery
from services.realtime.changes.feed import ChangeFeed
from tests.services.realtime.changes.conftest import OpenFeed
from tests.services.realtime.changes.listener import ALL, Listener
from tests.services.realtime.changes.log import Log, inserted, item
from tests.services.realtime.changes.pool import COLUMNS, Pool, table

ONE, TWO = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
OWN_ROWS = ClaimRule("user_id", ["sub"], "uuid")


async def test_an_insert_after_the_subscription_is_delivered(feed: ChangeFeed, log: Log) -> None:
    listener = Listener()
    await feed.subscribe(listener, [ALL], [7], None)

    position = await log.commit(inserted(1, ONE))
    await listener.heard(1)

    assert listener.got[0].ids == (7,)
    assert listener.got[0].position == position
    assert listener.data[0]["record"] == {"id": 1, "user_id": ONE, "body": "b", "amount": 1}


async def test_what_was_published_before_the_subscription_is_not_delivered(
    feed: ChangeFeed, log: Log
) -> None:
    first, second = Listener(), Listener()
    await feed.subscribe(first, [ALL], [1], None)
    await log.commit(inserted(1))
    await feed.subscribe(second, [ALL], [1], None)

    await log.commit(inserted(2))
    await second.heard(1)
    await first.heard(2)

    assert (first.ids, second.ids) == ([1, 2], [2])


async def test_events_and_filters_choose(feed: ChangeFeed, log: Log) -> None:
    listener = Listener()
    entries = [
        ChangeSubscription("INSERT", "public", "items", "amount=gt.5"),
        ChangeSubscription("DELETE", "public", "items"),
        ChangeSubscription("*", "public", "items", "body=eq.x"),
    ]
    await feed.subscribe(listener, entries, [1, 2, 3], None)

    await log.commit(
        inserted(1, amount=5),
        inserted(2, amount=6),
        inserted(3, amount=7, body="x"),
        RowChange(ChangeKind.DELETE, None, [b"4", None, None, None], 10),
    )
    await listener.heard(3)

    assert [(each.ids, id) for each, id in zip(listener.got, listener.ids, strict=True)] == [
        ((1,), 2),
        ((1, 3), 3),
        ((2,), 4),
    ]


async def test_everyone_sees_their_own_rows_by_a_rule(feed: ChangeFeed, pool: Pool, log: Log) -> None:
    pool.tables["authenticated", "items"] = table(OWN_ROWS)
    one, two = Listener("authenticated", sub=ONE), Listener("authenticated", sub=TWO)
    for each in (one, two):
        await feed.subscribe(each, [ALL], [1], None)

    await log.commit(inserted(1, ONE), inserted(2, TWO), inserted(3, None), inserted(4, ONE))
    await log.commit(inserted(5, TWO))
    await two.heard(2)
    await one.heard(2)

    assert (one.ids, two.ids) == ([1, 4], [2, 5])
    assert pool.count(VisibilityQuery) == 0


async def test_what_only_sql_knows_is_asked_once_for_a_group(feed: ChangeFeed, pool: Pool, log: Log) -> None:
    pool.tables["anon", "items"] = table(SqlRule())
    pool.visible = lambda role, claims, key: key != b"2"
    listeners = [Listener() for _ in range(5)]
    for each in listeners:
        await feed.subscribe(each, [ALL], [1], None)

    await log.commit(inserted(1), inserted(2), inserted(3))
    for each in listeners:
        await each.heard(2)

    assert [each.ids for each in listeners] == [[1, 3]] * 5
    assert [len(each.groups) for each in pool.asked if isinstance(each, VisibilityQuery)] == [1]


async def test_equal_subscribers_share_one_delivery(feed: ChangeFeed, log: Log) -> None:
    first, second = Listener(), Listener("authenticated", sub=ONE)
    third = Listener()
    for each in (first, second, third):
        await feed.subscribe(each, [ALL], [1], None)

    await log.commit(inserted(1))
    for each in (first, second, third):
        await each.heard(1)

    assert first.got[0] is third.got[0]


async def test_a_later_change_waits_for_the_questions_of_an_earlier_one(
    feed: ChangeFeed, pool: Pool, log: Log
) -> None:
    pool.tables["authenticated", "items"] = table(SqlRule())
    listener, by_rule = Listener("authenticated", sub=ONE), Listener()
    await feed.subscribe(listener, [ALL, ChangeSubscription("*", "public", "other")], [1, 2], None)
    await feed.subscribe(by_rule, [ALL], [1], None)
    pool.gates["/visible"].clear()

    await log.commit(inserted(1))
    await log.commit(inserted(2), table="other")
    async with asyncio.timeout(60):
        while pool.count(TableQuery) < 3:
            await asyncio.sleep(0.01)
    before = list(listener.got)
    pool.gates["/visible"].set()
    await listener.heard(2)

    assert before == []
    assert listener.ids == [1, 2]


async def test_rows_wait_while_the_pool_is_away(feed: ChangeFeed, pool: Pool, log: Log) -> None:
    pool.tables["anon", "items"] = table(SqlRule())
    pool.visible = lambda role, claims, key: key == b"2"
    listener = Listener()
    subscription, _ = await feed.subscribe(listener, [ALL], [1], None)
    pool.is_away = True

    await log.commit(inserted(1))
    end = await log.commit(inserted(2))
    pool.is_away = False
    await listener.heard(1)

    assert listener.ids == [2]
    assert subscription.position >= end


async def test_rights_are_asked_again_after_a_change_of_the_schema(
    feed: ChangeFeed, pool: Pool, log: Log
) -> None:
    listener = Listener()
    await feed.subscribe(listener, [ALL], [1], None)
    await log.commit(inserted(1))
    await listener.heard(1)

    pool.tables["anon", "items"] = table(columns=COLUMNS[:1])
    log.migrate()
    await log.commit(inserted(2))
    await log.commit(inserted(3))
    await listener.heard(3)

    assert [each["record"] for each in listener.data[1:]] == [{"id": 2}, {"id": 3}]
    assert [each.least_lsn for each in pool.asked if isinstance(each, TableQuery)] == [0x10, log.schema_lsn]


async def test_new_claims_hold_from_the_renewal_on(feed: ChangeFeed, pool: Pool, log: Log) -> None:
    pool.tables["authenticated", "items"] = table(OWN_ROWS)
    listener = Listener("authenticated", sub=ONE)
    subscription, _ = await feed.subscribe(listener, [ALL], [1], None)
    await log.commit(inserted(1, ONE), inserted(2, TWO))
    await listener.heard(1)

    listener.become("authenticated", sub=TWO)
    await subscription.renew()
    await log.commit(inserted(3, ONE), inserted(4, TWO))
    await listener.saw(4)

    assert listener.ids == [1, 4]


async def test_who_closes_gets_nothing_more(feed: ChangeFeed, log: Log) -> None:
    listener, witness = Listener(), Listener()
    subscription, _ = await feed.subscribe(listener, [ALL], [1], None)
    await feed.subscribe(witness, [ALL], [1], None)

    subscription.close()
    await log.commit(inserted(1))
    await witness.heard(1)

    assert listener.got == []


async def test_refused_entries_deliver_nothing(feed: ChangeFeed, pool: Pool, log: Log) -> None:
    pool.refused["secret"] = "no"
    listener = Listener()
    entries = [ChangeSubscription("*", "public", "secret"), ALL]
    _, checked = await feed.subscribe(listener, entries, [1, 2], None)

    await log.commit(inserted(1), table="secret")
    await log.commit(inserted(2))
    await listener.heard(1)

    assert [each.error for each in checked] == ["no", ""]
    assert listener.ids == [2]


async def test_a_gap_in_the_stream_is_told_in_its_place(feed: ChangeFeed, log: Log) -> None:
    listener = Listener()
    await feed.subscribe(listener, [ALL], [1], None)

    await log.commit(inserted(1))
    await log.gap(0x77)
    await log.commit(inserted(2))
    await listener.heard(2, gaps=1)

    assert listener.gaps == [Position(0x77)]


async def test_wildcards_reach_all_tables(feed: ChangeFeed, log: Log) -> None:
    of_schema, of_all = Listener(), Listener()
    await feed.subscribe(of_schema, [ChangeSubscription("*", "public", "*")], [1], None)
    await feed.subscribe(of_all, [ChangeSubscription("*", "*", "*")], [1], None)

    await log.commit(inserted(1), schema="other", table="t")
    await log.commit(inserted(2), table="any")
    await of_schema.heard(1)
    await of_all.heard(2)

    assert (of_schema.ids, of_all.ids) == ([2], [1, 2])


async def test_deletes_tell_the_key_under_row_security(feed: ChangeFeed, pool: Pool, log: Log) -> None:
    pool.tables["authenticated", "items"] = table(OWN_ROWS)
    owner, other, free = Listener("authenticated", sub=ONE), Listener("authenticated", sub=TWO), Listener()
    for each in (owner, other, free):
        await feed.subscribe(each, [ALL], [1], None)

    await log.commit(RowChange(ChangeKind.DELETE, None, item(1, ONE), 10), identity="f")
    for each in (owner, other, free):
        await each.heard(1)

    assert [each.data[0]["old_record"] for each in (owner, other)] == [{"id": 1}] * 2
    assert free.data[0]["old_record"] == {"id": 1, "user_id": ONE, "body": "b", "amount": 1}


async def test_checked_deletes_reach_only_those_who_saw_the_row(
    pool: Pool, log: Log, open_one: OpenFeed
) -> None:
    feed = await open_one(deletes_under_rls=True)
    pool.tables["authenticated", "items"] = table(OWN_ROWS)
    owner, other = Listener("authenticated", sub=ONE), Listener("authenticated", sub=TWO)
    for each in (owner, other):
        await feed.subscribe(each, [ALL], [1], None)

    await log.commit(RowChange(ChangeKind.DELETE, None, item(1, ONE), 10), identity="f")
    await log.commit(inserted(2, TWO))
    await owner.heard(1)
    await other.heard(1)

    assert owner.data[0]["old_record"]["user_id"] == ONE
    assert other.ids == [2]


async def test_truncate_is_not_delivered(feed: ChangeFeed, log: Log) -> None:
    listener = Listener()
    await feed.subscribe(listener, [ALL], [1], None)

    await log.commit(RowChange(ChangeKind.TRUNCATE))
    await log.commit(inserted(1))
    await listener.heard(1)

    assert listener.ids == [1]


async def test_what_nobody_tells_of_is_seen_within_seconds(feed: ChangeFeed, pool: Pool, log: Log) -> None:
    """Roles are no part of the log: what a role may see is asked again after a while, also where changes never cease."""
    pool.tables["anon", "items"] = replace(table(), valid_s=0.3)
    listener = Listener()
    await feed.subscribe(listener, [ALL, ChangeSubscription("*", "public", "other")], [1, 2], None)
    await log.commit(inserted(0))
    await listener.heard(1)
    pool.tables["anon", "items"] = replace(table(NoRow()), valid_s=0.3)
    number, asked = 0, pool.count(TableQuery)
    async with asyncio.timeout(60):
        while pool.count(TableQuery) < asked + 2:
            number += 1
            await log.commit(inserted(number))
            await asyncio.sleep(0.01)

    await log.commit(inserted(5000))
    await log.commit(inserted(6000), table="other")
    await listener.saw(6000)

    assert 5000 not in listener.ids
