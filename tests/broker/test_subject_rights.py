import asyncio

import pytest

from broker import subjects
from broker.events import publish_event, store_event, subscribe_events
from broker.jetstream.streams import ensure_stream
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.requests.call import Calls
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from broker.subject_rights import BROKER_USERS, EDGE_USER, authorization
from broker.subjects import IMAGES, REST, Subject
from schemas.errors import Unavailable
from schemas.events import CatalogChanged
from schemas.http import Request, Response
from tests.broker.conftest import Open
from tests.broker.server import running_server

_PASSWORDS = {EDGE_USER: 'd"1', "pool": "p2", "platform": "x3"}


async def _answer(_: Request, __: RequestBody) -> Response:
    return Response(200)


async def _reaches(
    speaker: NatsConnection, listener: NatsConnection, subject: str, pattern: str = ""
) -> bool:
    """Return whether a message of one connection reaches the other, subscribed to its subject or to a pattern."""
    heard = asyncio.Event()

    def take(_: NatsMessage) -> None:
        heard.set()

    subscription = listener.subscribe(pattern or subject, take)
    await listener.flush()
    speaker.publish(subject, b"")
    await speaker.flush()
    await listener.flush()
    subscription.unsubscribe()
    return heard.is_set()


async def test_every_user_can_do_its_work_and_no_more(connect: Open) -> None:
    async with running_server(authorization(_PASSWORDS)) as server:
        users = {
            user: await connect(server.url_of(user, password.replace('"', "%22")))
            for user, password in _PASSWORDS.items()
        }
        edge, pool, platform = users[EDGE_USER], users["pool"], users["platform"]
        serving = [await serve(pool, subject, _answer, concurrency=1, queue=1) for subject in (REST, IMAGES)]
        health = await serve(pool, subjects.health("rest"), _answer, concurrency=1, queue=1)
        other_worker, got = await connect(server.url_of("pool", "p2")), asyncio.Event()

        async def heard(_: CatalogChanged) -> None:
            got.set()

        following = await subscribe_events(edge, subjects.CATALOG_CHANGED, CatalogChanged, heard)
        publish_event(pool, subjects.CATALOG_CHANGED, CatalogChanged(1))
        await ensure_stream(pool, "STORAGE_EVENTS", ["events.kept"])

        assert (await Calls(edge).call(REST, Request("1", "GET", "/"))).response.status == 200
        assert (
            await Calls(edge).call(subjects.health("rest"), Request("1", "GET", "/"))
        ).response.status == 200
        assert (await Calls(other_worker).call(IMAGES, Request("1", "GET", "/"))).response.status == 200
        assert await store_event(pool, Subject("events.kept"), CatalogChanged(1)) == 1
        await asyncio.wait_for(got.wait(), 60)
        assert await _reaches(platform, platform, "rest.request")
        # A worker cannot make requests to a pool that no pool needs, an edge cannot answer any.
        assert not await _reaches(other_worker, pool, "rest.request")
        assert not await _reaches(platform, edge, "rest.request")
        # Edges ask for their settings; what the pool auth does for administrators is asked by workers alone.
        assert await _reaches(edge, pool, subjects.EDGE_SETTINGS.name)
        assert await _reaches(other_worker, pool, subjects.AUTH_SETTINGS.name)
        assert not await _reaches(edge, pool, subjects.AUTH_SETTINGS.name)
        assert await _reaches(other_worker, pool, subjects.ARCHIVE_PLAN.name)
        assert not await _reaches(edge, pool, subjects.ARCHIVE_PLAN.name)
        assert not await _reaches(edge, pool, subjects.SETTINGS_CHANGED.name)
        # Operations of administrators collect metrics, and start the functions worker that waits.
        assert await _reaches(pool, edge, subjects.METRICS_COLLECT)
        assert await _reaches(pool, platform, subjects.FUNCTIONS_WAKE.name)
        # They also ask to renew the certificate; what edges share in its bucket is theirs.
        edges = f"$KV.{subjects.CERTIFICATES_BUCKET}.certificate"
        assert await _reaches(pool, platform, subjects.CERTIFICATE_RENEWAL_SUBJECT)
        assert await _reaches(pool, platform, subjects.CERTIFICATE_REPORT_READING)
        assert await _reaches(edge, platform, edges)
        assert not await _reaches(pool, platform, edges)
        # No client receives what is meant for the inboxes of another user.
        assert not await _reaches(platform, pool, f"_INBOX.{EDGE_USER}.x.1")
        assert not await _reaches(platform, edge, "_INBOX.pool.x.1")
        assert not await _reaches(edge, pool, subjects.CATALOG_CHANGED.name)
        await following.close()
        for member in (*serving, health):
            await member.stop()


_STREAMS = ("EMAILS", "STORAGE_EVENTS", "FUNCTION_LOGS", "LOGS", "CHANGES")
_MAY_MAKE = {EDGE_USER: (), "pool": _STREAMS[:4], "changes": _STREAMS[4:], "platform": _STREAMS}
_MAY_DELETE = {EDGE_USER: (), "pool": (), "changes": _STREAMS[4:], "platform": _STREAMS}


async def test_only_the_administrator_deletes_the_stream_of_another_user(connect: Open) -> None:
    passwords = {name: name for name in BROKER_USERS}
    async with running_server(authorization(passwords)) as server:
        users = {name: await connect(server.url_of(name, name)) for name in passwords}

        # Whether JetStream gets an order is seen by who may hear everything: the server passes on what is allowed alone.
        for name, user in users.items():
            allowed = {
                (order, stream)
                for order in ("CREATE", "UPDATE", "DELETE", "PURGE", "MSG.DELETE")
                for stream in _STREAMS
                if await _reaches(user, users["platform"], f"$JS.API.STREAM.{order}.{stream}")
            }

            assert {stream for order, stream in allowed if order == "CREATE"} == set(_MAY_MAKE[name]), name
            assert {stream for order, stream in allowed if order == "UPDATE"} == set(_MAY_MAKE[name]), name
            assert {stream for order, stream in allowed if order == "DELETE"} == set(_MAY_DELETE[name]), name
            emptied = {stream for order, stream in allowed if order in ("PURGE", "MSG.DELETE")}
            assert emptied == (set(_STREAMS) if name == "platform" else set()), name


async def test_a_user_can_neither_read_nor_answer_for_another(connect: Open) -> None:
    passwords = {name: name for name in BROKER_USERS}
    async with running_server(authorization(passwords)) as server:
        users = {name: await connect(server.url_of(name, name)) for name in passwords}
        platform = users.pop("platform")

        for name, user in users.items():
            for other in set(passwords) - {name}:
                for pattern in ("", f"_INBOX.{other}.>", "_INBOX.>", ">"):
                    subject = f"_INBOX.{other}.x.1"
                    assert not await _reaches(platform, user, subject, pattern), (name, other, pattern)
            assert await _reaches(platform, user, f"_INBOX.{name}.x.1", f"_INBOX.{name}.>")
            for subject in ("$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.STATZ", "$JS.API.ACCOUNT.PURGE.A"):
                assert not await _reaches(user, platform, subject), (name, subject)
        # Row changes come from the process that follows the log, and from no other.
        for name in (EDGE_USER, "pool"):
            for subject in ("changes.public.t", "messages.pub.x", "gaps.changes"):
                assert not await _reaches(users[name], platform, subject), (name, subject)
        # What an edge asks a pool is heard by that pool: not by other edges, nor by the pool of row changes.
        for subject in subjects.REQUESTS:
            assert not await _reaches(platform, users[EDGE_USER], subject.name)
            assert await _reaches(platform, users["changes"], subject.name) is (
                subject in (subjects.REALTIME, subjects.SYNC)
            )


async def test_a_wrong_password_is_reported_as_such() -> None:
    async with running_server(authorization(_PASSWORDS)) as server:
        with pytest.raises(Unavailable, match="Authorization Violation") as caught:
            await NatsConnection.open(server.url_of(EDGE_USER, "wrong-password"), name="test", timeout=0.5)

    assert "wrong-password" not in str(caught.value)
