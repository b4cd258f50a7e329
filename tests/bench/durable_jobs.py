"""Durable jobs: how many steps a second one function does, and how long a step takes that is alone.

    python -m tests.bench.durable_jobs [--runs 200] [--steps 10] [--concurrency 50]

One platform, one function whose steps do nothing. Runs are started by one statement; the rate counts stored steps from before the statement
until the last run has ended. Then runs follow one another: milliseconds for each of their steps.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import asyncpg

from tests.platform import platform

_ALONE = 10
_FUNCTION = """
import { job } from "headwater:jobs";
Deno.serve(job(async ({ input, step }) => {
  for (let n = 0; n < input.steps; n++) await step("nothing", () => n);
}));
"""
_START = "select count(headwater_jobs.start('work', jsonb_build_object('steps', $2::int))) from generate_series(1, $1::int)"


async def measure(runs: int, steps: int, concurrency: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "supabase"
        (project / "functions" / "work").mkdir(parents=True)
        (project / "functions" / "work" / "index.ts").write_text(_FUNCTION)
        (project / "config.toml").write_text(
            f"[functions.work.job]\nenabled = true\nconcurrency = {concurrency}\n"
        )
        with platform("--project", folder) as running:
            connection = await asyncpg.connect(running.values["DB_URL"])
            while not await connection.fetchval("select exists (select from headwater_jobs.jobs)"):
                await asyncio.sleep(0.1)  # between two questions: nothing announces that the job is known
            await _run(connection, 1, 1)  # starts the function
            took_s = await _run(connection, runs, steps)
            print(
                f"{runs} runs of {steps} steps, {concurrency} at a time: {runs * steps / took_s:.0f} steps a second"
            )
            alone = [await _run(connection, 1, steps) for _ in range(_ALONE)]
            print(f"one run at a time: {sorted(alone)[_ALONE // 2] / steps * 1000:.1f} ms a step")
            await connection.close()


async def _run(connection: asyncpg.Connection, runs: int, steps: int) -> float:
    """Start runs and return in how many seconds all have ended."""
    began = time.monotonic()
    await connection.execute(_START, runs, steps)
    while await connection.fetchval(
        "select exists (select from headwater_jobs.runs where due_at is not null)"
    ):
        await asyncio.sleep(0.01)  # between two questions: nothing announces the end of the last run
    return time.monotonic() - began


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--concurrency", type=int, default=50)
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.runs, arguments.steps, arguments.concurrency))


if __name__ == "__main__":
    main()
