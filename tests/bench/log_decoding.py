"""How many row changes a second one reader of the log decodes: from the bytes of Postgres to the bytes of the stream.

    python -m tests.bench.log_decoding [--rows 50000] [--rounds 5] [--record]

The log is written by a real server and read once (`pg_logical_slot_peek_binary_changes`); then its messages are decoded, put together,
converted and encoded as the reader does it (`workers/replication/term.py`), without the connections to Postgres and NATS. CPU of one thread, the
least of some rounds. A row has 7 columns (bigint, int, text, numeric, bool, jsonb, timestamptz).

insert, update, delete   one transaction of all rows
commits                  each row inserted by a transaction of its own
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence

import asyncpg

from tests.bench.table import Budget, Figures, add_record_option
from tests.workers.database.server import connected, temporary_server
from workers.replication.messages import batch_of
from workers.replication.pgoutput import TypeMessage, decode
from workers.replication.tables import TableCatalog
from workers.replication.transactions import TableDraft, TransactionAssembler

BUDGETS = (
    Budget("insert: changes a second", 100_000, True),
    Budget("update: changes a second", 100_000, True),
)
_TABLE = """
create table public.bench (
  id bigint primary key, n int, name text, price numeric(10,2), ok bool, data jsonb, at timestamptz default now());
create publication bench for table public.bench;
"""
_ROWS = "insert into bench select g, 7, 'item ' || g, 12.50, true, '{{\"a\": [1, 2]}}' from generate_series({}, {}) g"
_MOST_PAYLOAD = 1024 * 1024


async def written_log(rows: int) -> dict[str, list[bytes]]:
    """Return the messages of the log of each kind of work, as a server writes them."""
    first = {"insert": (1, rows), "commits": (rows + 1, 2 * rows)}
    log: dict[str, list[bytes]] = {}
    with temporary_server(settings={"max_wal_senders": "4"}) as server:
        async with connected(server.url()) as one:
            await one.execute(_TABLE)

            async def record(name: str, statements: Sequence[str]) -> None:
                await one.fetchval("select pg_create_logical_replication_slot('bench', 'pgoutput')")
                for statement in statements:
                    await one.execute(statement)
                log[name] = await _read(one)
                await one.execute("select pg_drop_replication_slot('bench')")

            await record("insert", [_ROWS.format(*first["insert"])])
            await record("update", ["update bench set n = 8"])
            await record("delete", ["delete from bench"])
            start, stop = first["commits"]
            single = f"do $$ begin for n in {start} .. {stop} loop {_ROWS.format('n', 'n')}; commit; end loop; end $$"
            await record("commits", [single])
    return log


async def _read(one: asyncpg.Connection) -> list[bytes]:
    rows = await one.fetch(
        "select data from pg_logical_slot_peek_binary_changes('bench', null, null, 'proto_version', '1', 'publication_names', 'bench')"
    )
    return [bytes(row["data"]) for row in rows]


async def _no_answer(*_: object) -> list[object]:
    raise AssertionError("the types and the key of this table need no question to the catalog")


async def encoded(messages: Sequence[bytes]) -> tuple[int, int]:
    """Decode, put together, convert and encode; return the number of changes and of messages for the stream."""
    rows, tables = TransactionAssembler(0), TableCatalog(_no_answer, _no_answer)
    changes = batches = 0
    for data in messages:
        message = decode(data)
        if isinstance(message, TypeMessage):
            tables.add_type(message)
        for part in rows.take(message, len(data)):
            if not isinstance(part, TableDraft):
                continue
            table = await tables.find(part.relation)
            news = await tables.convert(table, [change.new for change in part.changes])
            olds = await tables.convert(table, [change.old for change in part.changes])
            batch_of(part, table, news, olds, _MOST_PAYLOAD)
            changes += len(part.changes)
            batches += 1
    return changes, batches


async def measure(options: argparse.Namespace, figures: Figures) -> None:
    """Print the rates."""
    for name, messages in (await written_log(options.rows)).items():
        used = []
        for _ in range(options.rounds):
            began = time.thread_time()
            changes, batches = await encoded(messages)
            used.append(time.thread_time() - began)
        if changes != options.rows:
            raise SystemExit(f"{name}: {changes} changes of {options.rows}")
        rate = changes / min(used)
        figures.add(f"{name}: changes a second", rate, "/s")
        print(
            f"{name:8} {rate:9.0f} changes/s   {1e6 / rate:6.2f} us a change   {batches} messages", flush=True
        )


def main() -> int:
    """Run the benchmark; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("log_decoding", BUDGETS)
    asyncio.run(measure(options, figures))
    return 0 if figures.finish(options.record) else 1


if __name__ == "__main__":
    sys.exit(main())
