import asyncio
import contextlib
import datetime
import gc
import ssl
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.workers.database.connections import session_database, until, work
from workers.database.errors import DatabaseError, Disconnected, SessionEnded
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.transactions.perform import perform


@pytest.fixture(scope="module")
async def database(server):
    async with session_database(server.url) as made:
        yield made


@pytest.fixture
async def pipeline(database):
    made = await PostgresConnection.connect(database.login)
    yield made
    made.close()
    await made.closed()


async def rows(pipeline, *texts):
    return await perform(pipeline, work(*texts))


async def scenario(url: str) -> None:
    """Use a connection as a pool would, on whatever event loop runs."""
    pipeline = await PostgresConnection.connect(url)
    assert await rows(pipeline, "select 1", "select current_user") == [[(b"1",)], [(b"session_member",)]]
    big = (await rows(pipeline, "select repeat('x', 3000000) from generate_series(1, 3)"))[0]
    assert big == [(b"x" * 3000000,)] * 3

    sleeping = asyncio.ensure_future(pipeline.command("select pg_sleep(60)"))
    while not sleeping.done():  # a request to cancel may overtake the statement
        await pipeline.cancel()
        await asyncio.wait([sleeping], timeout=0.1)
    error = (await sleeping).error
    assert error is not None
    assert error.code == "57014"
    assert pipeline.is_settled

    pipeline.close()
    await pipeline.closed()
    with pytest.raises(Disconnected):
        await pipeline.command("select 1")


async def test_a_connection_works_under_asyncio(database):
    await scenario(database.login)


async def test_a_connection_works_under_uvloop(database):
    await asyncio.to_thread(uvloop.run, scenario(database.login))


def certificate(folder: Path) -> ssl.SSLContext:
    """Give a server's side of TLS with a new certificate for localhost, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    chain = folder / "chain.pem"
    chain.write_bytes(secret + made.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return context


@contextlib.asynccontextmanager
async def tls_front(host: str, port: int, context: ssl.SSLContext) -> AsyncIterator[int]:
    """Speak TLS as a Postgres server would, in front of one that was built without it; give the port."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 18):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(8) == b"\0\0\0\x08\x04\xd2\x16\x2f"
        writer.write(b"S")
        await writer.start_tls(context)
        behind_reader, behind_writer = await asyncio.open_connection(host, port)
        await asyncio.gather(pass_on(reader, behind_writer), pass_on(behind_reader, writer))

    front = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield front.sockets[0].getsockname()[1]
    finally:
        front.close()
        await front.wait_closed()


async def test_a_connection_works_over_tls_on_both_loops(database, tmp_path):
    parts = urlsplit(database.login)
    async with tls_front(parts.hostname, parts.port, certificate(tmp_path)) as port:
        url = parts._replace(
            netloc=f"session_login:session@127.0.0.1:{port}", query="sslmode=require"
        ).geturl()

        await scenario(url)
        await asyncio.to_thread(uvloop.run, scenario(url))


async def test_a_cell_of_a_hundred_megabytes_arrives_whole(pipeline):
    found = (await rows(pipeline, "select repeat('0123456789', 10000000)"))[0][0][0]

    assert found == b"0123456789" * 10_000_000


async def test_many_rows_arrive_in_their_order(pipeline):
    found = (await rows(pipeline, "select n from generate_series(1, 200000) n"))[0]

    assert found == [(b"%d" % n,) for n in range(1, 200_001)]


async def test_the_application_is_named(pipeline):
    assert await rows(pipeline, "show application_name") == [[(b"headwater",)]]


async def test_one_exchange_at_a_time(pipeline):
    first = asyncio.ensure_future(pipeline.command("select 1"))
    await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="under way"):
        await pipeline.command("select 2")
    assert (await first).results == [[(b"1",)]]


async def test_statements_are_prepared_once_and_the_oldest_make_room(pipeline):
    for round_ in range(2):
        for n in range(320):
            await rows(pipeline, f"select {n}")
        names = (await rows(pipeline, "select count(*) from pg_prepared_statements"))[0][0][0]
        assert names is not None
        assert 290 <= int(names) <= 301, round_
    assert len(pipeline.statements) == 300


async def test_a_statement_that_did_not_parse_is_not_taken_as_prepared(pipeline):
    for _ in range(2):
        with pytest.raises(DatabaseError) as caught:
            await rows(pipeline, "select 1", "select nothing", "select 2")
        assert (caught.value.code, caught.value.statement_index) == ("42703", 1)

    assert await rows(pipeline, "select 2", "select 1") == [[(b"2",)], [(b"1",)]]


async def test_bytes_that_make_no_sense_end_the_connection(pipeline):
    lost = []
    pipeline._on_lost = lost.append
    waiting = asyncio.ensure_future(pipeline.command("select pg_sleep(60)"))
    await asyncio.sleep(0)

    pipeline.data_received(b"\xff\xff\xff\xff\xff\xff")

    with pytest.raises(Disconnected, match="violated the protocol"):
        await waiting
    assert lost == [pipeline]
    assert not pipeline.is_settled


async def test_a_server_that_ends_the_session_says_why(pipeline, database):
    waiting = asyncio.ensure_future(pipeline.command("select pg_sleep(60)"))
    await asyncio.sleep(0)

    await database.execute(f"select pg_terminate_backend({pipeline.process_id})")

    with pytest.raises(SessionEnded) as caught:
        await waiting
    assert caught.value.code == "57P01"
    assert pipeline.lost.code == "57P01"


async def test_an_idle_connection_notices_its_end(pipeline, database):
    await database.execute(f"select pg_terminate_backend({pipeline.process_id})")

    await until(lambda: pipeline.lost)
    with pytest.raises(Disconnected, match="terminating connection"):
        await pipeline.command("select 1")


async def test_parameters_the_server_reports_are_kept(pipeline):
    await pipeline.command("set timezone to 'Asia/Tokyo'")

    assert pipeline.parameters["TimeZone"] == "Asia/Tokyo"


async def test_notices_are_told(database):
    heard = []
    pipeline = await PostgresConnection.connect(database.login, on_notice=heard.append)

    await rows(pipeline, "do $$ begin raise notice 'a word'; end $$")

    assert [(each["V"], each["M"]) for each in heard] == [("NOTICE", "a word")]
    pipeline.close()


async def test_a_server_that_is_not_there_is_a_disconnection(database):
    with pytest.raises(Disconnected):
        await PostgresConnection.connect("postgresql://nobody:secret-word@127.0.0.1:1/none")


async def test_a_refused_login_has_its_code(database):
    with pytest.raises(Disconnected) as caught:
        await PostgresConnection.connect(database.login.rpartition("/")[0] + "/no_such_database")

    assert caught.value.code == "3D000"


async def test_a_url_that_cannot_be_read_is_not_repeated():
    with pytest.raises(ValueError, match="cannot be read") as caught:
        await PostgresConnection.connect("mysql://someone:secret-word@localhost/x")

    assert "secret-word" not in str(caught.value)
    assert caught.value.__suppress_context__


async def test_asyncpg_neither_closes_nor_bemoans_what_it_gave_away(database):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = await PostgresConnection.connect(database.login)
        gc.collect()

        assert await rows(pipeline, "select 1") == [[(b"1",)]]
        pipeline.close()
        gc.collect()
