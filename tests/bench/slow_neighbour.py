"""Whether one slow query of a caller delays the fast reads of another: their latencies with and without it, in turns.

    python -m tests.bench.slow_neighbour [--kinds sleep,busy,rows] [--seconds 4] [--pairs 5] [--readers 8]

`--readers` connections of one user read a row by key each, one request after the other with a pause of 20 ms, so that the reads
alone leave the machine idle. Beside them another user has one query under way all the time:

sleep   a session that waits (pg_sleep)
busy    a session that uses a core for a second
rows    an answer of 200,000 rows, read as fast as it comes

The figure is how much later the slowest hundredth of the reads is answered, the median of the pairs.
"""

import argparse
import asyncio
import statistics
import sys
from collections import Counter

import asyncpg

from tests.bench.fairness import Answers, Caller, percentile, read_fast, user_headers
from tests.bench.load import Outcome, drive, http
from tests.bench.table import Budget, Figures, add_record_option
from tests.platform import MANY_CLIENTS, Platform, platform

BUDGETS = tuple(Budget(f"{kind}: p99 later", 10) for kind in ("sleep", "busy", "rows"))
_SCHEMA = """
create table public.shelf (id int primary key, name text);
insert into public.shelf select n, 'row ' || n from generate_series(1, 1000) n;
grant select on public.shelf to anon, authenticated, service_role;
create function public.sleep() returns int language sql as 'select 1 from pg_sleep(1)';
create function public.busy() returns int language plpgsql as $$
begin
  while clock_timestamp() < statement_timestamp() + interval '1 second' loop null; end loop;
  return 1;
end $$;
create function public.rows() returns setof public.shelf language sql as
  'select n, repeat(''x'', 60) from generate_series(1, 200000) n' rows 200000;
notify pgrst;
"""


def ask_slowly(one: Platform, kind: str, seconds: float) -> Outcome:
    """Have one query of another user under way for so long. It runs in a thread, so that reading its answer does not delay the readers here."""
    host = f"127.0.0.1:{one.port}"
    request = http("POST", f"/rest/v1/rpc/{kind}", host, user_headers(one, "slow"), b"{}")
    return drive(("127.0.0.1", one.port), [request], 1, seconds)


async def read(one: Platform, options: argparse.Namespace) -> list[float]:
    """Read for a while with all readers; return the seconds of each read, shortest first."""
    caller, answers = Caller("reader", user_headers(one, "reader")), Answers()
    await asyncio.gather(*(read_fast(one, caller, options.seconds, answers) for _ in range(options.readers)))
    if set(answers.by_status) != {200}:
        raise SystemExit(
            f"answers to readers: { ({status: len(s) for status, s in answers.by_status.items()}) }"
        )
    return answers.seconds


async def measure(one: Platform, options: argparse.Namespace, figures: Figures) -> None:
    """Measure each kind of slow query in turns with none."""
    connection = await asyncpg.connect(one.values["DB_URL"])
    await connection.execute(_SCHEMA)
    await connection.close()
    await asyncio.to_thread(one.wait_for_catalog, "shelf")
    await read(one, options)  # the first reads fill caches
    print(f"{'beside':8}{'p50 ms':>16}{'p99 ms':>16}{'p99 later ms':>14}  slow answers")
    for kind in options.kinds.split(","):
        pairs, slow = [], Counter[int]()
        for _ in range(options.pairs):
            alone = await read(one, options)
            asking = asyncio.create_task(asyncio.to_thread(ask_slowly, one, kind, options.seconds))
            pairs.append((alone, await read(one, options)))
            slow += (await asking).statuses
        if set(slow) != {200}:
            raise SystemExit(f"answers to the slow query: {dict(slow)}")
        middles = [statistics.median(percentile(side, share) * 1000 for side in sides)
                   for share in (0.5, 0.99) for sides in zip(*pairs, strict=True)]  # fmt: skip
        later = statistics.median(
            (percentile(beside, 0.99) - percentile(alone, 0.99)) * 1000 for alone, beside in pairs
        )
        figures.add(f"{kind}: p99 later", later, "ms")
        print(
            f"{kind:8}{middles[0]:7.2f} ->{middles[1]:6.2f}{middles[2]:7.2f} ->{middles[3]:6.2f}{later:14.2f}  {slow.total()}",
            flush=True,
        )


def main() -> int:
    """Run the benchmark; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", default="sleep,busy,rows", help="comma separated")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one side of a pair")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--readers", type=int, default=8)
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("slow_neighbour", BUDGETS)
    with platform(environment={**MANY_CLIENTS, "HEADWATER_API_MAX_ROWS": "1000000"}) as one:
        asyncio.run(measure(one, options, figures))
    return 0 if figures.finish(options.record) else 1


if __name__ == "__main__":
    sys.exit(main())
