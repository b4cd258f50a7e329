import asyncio

import pytest

from broker import subjects
from broker.events import ensure_stream, follow, publish, publish_durably
from broker.nats.connection import Connection
from broker.nats.protocol import Message
from broker.requests.call import Calls
from broker.requests.serve import RequestBody, serve
from broker.subjects import IMAGES, REST, Subject, authorization
from schemas.errors import Unavailable
from schemas.events import CatalogChanged
from schemas.http import Request, Response
from tests.broker.conftest import Open
from tests.broker.server import running_server

_PASSWORDS = {"door": 'd"1', "pool": "p2", "platform": "x3"}


async def _answer(_: Request, __: RequestBody) -> Response:
    return Response(200)


async def _is_heard(speaker: Connection, listener: Connection, subject: str, pattern: str = "") -> bool:
    """Tell whether what one publishes on a subject reaches the other, if it may listen there (or to a pattern) at all."""
    heard = asyncio.Event()

    def take(_: Message) -> None:
        heard.set()

    subscription = listener.subscribe(pattern or subject, take)
    await listener.flush()
    speaker.publish(subject, b"")
    await speaker.flush()
    await listener.flush()
    subscription.unsubscribe()
    return heard.is_set()


@pytest.mark.parametrize("name", ["", "a b", "a.*", "a.>", "a..b", ".a", "a.", "a\r\nPUB b"])
def test_a_name_with_blanks_or_wildcards_is_no_subject(name: str) -> None:
    with pytest.raises(ValueError, match="is no subject"):
        Subject(name)


def test_no_two_requests_share_a_subject_or_a_pool() -> None:
    assert len({subject.name for subject in subjects.REQUESTS}) == len(subjects.REQUESTS)
    assert len({subject.pool for subject in subjects.REQUESTS}) == len(subjects.REQUESTS)


def test_only_plain_inboxes_are_inboxes() -> None:
    assert subjects.is_inbox("_INBOX.door.abc.1")
    assert not any(
        map(subjects.is_inbox, ["", "rest.request", "_INBOX.>", "_INBOX.*", "_INBOX.a b", "_INBOX.a\r\nPUB"])
    )


async def test_every_wing_can_do_its_work_and_no_more(connect: Open) -> None:
    async with running_server(authorization(_PASSWORDS)) as server:
        wings = {
            wing: await connect(server.url_of(wing, password.replace('"', "%22")))
            for wing, password in _PASSWORDS.items()
        }
        door, pool, platform = wings["door"], wings["pool"], wings["platform"]
        serving = [await serve(pool, subject, _answer, concurrency=1, queue=1) for subject in (REST, IMAGES)]
        health = await serve(pool, subjects.health("rest"), _answer, concurrency=1, queue=1)
        stranger, got = await connect(server.url_of("pool", "p2")), asyncio.Event()

        async def heard(_: CatalogChanged) -> None:
            got.set()

        following = await follow(door, subjects.CATALOG_CHANGED, CatalogChanged, heard)
        publish(pool, subjects.CATALOG_CHANGED, CatalogChanged(1))
        await ensure_stream(pool, "STORAGE_EVENTS", ["events.kept"])

        assert (await Calls(door).call(REST, Request("1", "GET", "/"))).response.status == 200
        assert (
            await Calls(door).call(subjects.health("rest"), Request("1", "GET", "/"))
        ).response.status == 200
        assert (await Calls(stranger).call(IMAGES, Request("1", "GET", "/"))).response.status == 200
        assert await publish_durably(pool, Subject("events.kept"), CatalogChanged(1)) == 1
        await asyncio.wait_for(got.wait(), 10)
        assert await _is_heard(platform, platform, "rest.request")
        # A worker cannot make requests of its own, a door cannot answer any.
        assert not await _is_heard(stranger, pool, "auth.request")
        assert not await _is_heard(platform, door, "rest.request")
        # Nobody hears what is meant for another wing's inboxes.
        assert not await _is_heard(platform, pool, "_INBOX.door.x.1")
        assert not await _is_heard(platform, door, "_INBOX.pool.x.1")
        assert not await _is_heard(door, pool, subjects.CATALOG_CHANGED.name)
        await following.close()
        for member in (*serving, health):
            await member.stop()


_STREAMS = ("LETTERS", "STORAGE_EVENTS", "FUNCTION_LOGS", "CHANGES")
_MAY_MAKE = {"door": (), "pool": _STREAMS[:3], "changes": _STREAMS[3:], "platform": _STREAMS}
_MAY_DELETE = {"door": (), "pool": (), "changes": _STREAMS[3:], "platform": _STREAMS}


async def test_only_who_administers_deletes_the_stream_of_another(connect: Open) -> None:
    passwords = {name: name for name in subjects.WINGS}
    async with running_server(authorization(passwords)) as server:
        users = {name: await connect(server.url_of(name, name)) for name in passwords}

        # Whether JetStream gets an order is seen by who may hear everything: the server passes on what is allowed alone.
        for name, user in users.items():
            allowed = {
                (order, stream)
                for order in ("CREATE", "UPDATE", "DELETE", "PURGE", "MSG.DELETE")
                for stream in _STREAMS
                if await _is_heard(user, users["platform"], f"$JS.API.STREAM.{order}.{stream}")
            }

            assert {stream for order, stream in allowed if order == "CREATE"} == set(_MAY_MAKE[name]), name
            assert {stream for order, stream in allowed if order == "UPDATE"} == set(_MAY_MAKE[name]), name
            assert {stream for order, stream in allowed if order == "DELETE"} == set(_MAY_DELETE[name]), name
            emptied = {stream for order, stream in allowed if order in ("PURGE", "MSG.DELETE")}
            assert emptied == (set(_STREAMS) if name == "platform" else set()), name


async def test_a_user_hears_no_other_and_speaks_for_no_other(connect: Open) -> None:
    passwords = {name: name for name in subjects.WINGS}
    async with running_server(authorization(passwords)) as server:
        users = {name: await connect(server.url_of(name, name)) for name in passwords}
        platform = users.pop("platform")

        for name, user in users.items():
            for other in set(passwords) - {name}:
                for pattern in ("", f"_INBOX.{other}.>", "_INBOX.>", ">"):
                    subject = f"_INBOX.{other}.x.1"
                    assert not await _is_heard(platform, user, subject, pattern), (name, other, pattern)
            assert await _is_heard(platform, user, f"_INBOX.{name}.x.1", f"_INBOX.{name}.>")
            for subject in ("$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.STATZ", "$JS.API.ACCOUNT.PURGE.A"):
                assert not await _is_heard(user, platform, subject), (name, subject)
        # Row changes come from the process that follows the log, and from no other.
        for name in ("door", "pool"):
            for subject in ("changes.public.t", "messages.pub.x", "gaps.changes"):
                assert not await _is_heard(users[name], platform, subject), (name, subject)
        # What an edge asks a pool is heard by that pool: not by other edges, nor by the pool of row changes.
        for subject in subjects.REQUESTS:
            assert not await _is_heard(platform, users["door"], subject.name)
            assert await _is_heard(platform, users["changes"], subject.name) is (subject is subjects.REALTIME)


async def test_a_wrong_password_is_told_as_such() -> None:
    async with running_server(authorization(_PASSWORDS)) as server:
        with pytest.raises(Unavailable, match="Authorization Violation") as caught:
            await Connection.open(server.url_of("door", "wrong-password"), name="test", timeout=0.5)

    assert "wrong-password" not in str(caught.value)
