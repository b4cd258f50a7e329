"""Iceberg tables in a bucket of a real S3 server, which goes away and comes back."""

from schemas.keys.secret import Secret
from tests.broker.s3_server import KEY, running_s3
from tests.workers.replication.replication_pool import ReplicationPool
from tests.workers.streams.running_streams import iceberg_table, source_of, states, stream, streaming, until


async def test_a_table_in_a_bucket_follows_over_an_outage(replication_pool: ReplicationPool):
    admin = replication_pool.admin
    await admin.execute(
        "create table public.far (id int primary key, a text); grant select on public.far to service_role"
    )
    await admin.execute("insert into public.far select n, 'x' from generate_series(1, 100) as n")
    with running_s3() as server:
        settings = stream(
            f"s3://{server.bucket}/lake", "far", closed_network=True, endpoint=server.url,
            access_key_id=Secret("somebody"), secret_access_key=Secret(KEY),
        )  # fmt: skip

        async def is_at(rows: int, state: str) -> bool:
            row = (await states(replication_pool)).get("far", {})
            return (row.get("rows"), row.get("state")) == (rows, state)

        async with streaming(replication_pool, far=settings):
            await until(lambda: is_at(100, "following"))
            server.stop()
            await admin.execute("update public.far set a = 'y' where id <= 10")
            await until(lambda: is_at(100, "away"))
            server.start()
            await until(lambda: is_at(110, "following"))
        copy = iceberg_table(settings, await source_of(replication_pool, settings))
        copy.open()
        read = copy.folder.load_table(()).scan().to_arrow().to_pylist()
        expected = [dict(row) for row in await admin.fetch("select id, a from public.far order by id")]
    assert sorted(read, key=lambda row: row["id"]) == expected
