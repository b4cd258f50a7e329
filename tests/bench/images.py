"""What a render costs: libvips called directly, our `render`, a decoder process, the pool over the broker.

    python -m tests.bench.images [--rounds 7] [--sharp]      --sharp compares with the npm package, where Node.js is

A picture of 12 megapixels becomes 800 pixels wide. Rounds alternate, the median counts; compare inside one run, and
trust CPU more than rates. The budget: `render` within 10 % of libvips called directly with the same options.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pyvips
import uvloop

from broker import subjects
from broker.blobs import blob_names
from broker.blobs.store import BlobStore
from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.requests.call import Calls
from schemas.blobs import BlobReference
from schemas.http import Request
from schemas.images.transform import Output, RenderOrder, Transform
from schemas.settings.storage import Storage
from tests.bench.table import Budget, Figures, add_record_option
from tests.broker.server import NatsServer, running_server
from workers.images.decoder_messages import DecoderJob
from workers.images.decoder_processes import DecoderProcesses
from workers.images.limits import DecoderLimits
from workers.images.render import prepare, render

WIDTH, HEIGHT, WANTED = 4000, 3000, Transform(width=800)
OUTPUTS: tuple[Output, ...] = ("jpeg", "webp", "avif")
BUDGETS = tuple(Budget(f"{output}: render to libvips", 1.10) for output in OUTPUTS)
_SAVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "jpeg": ("jpegsave_buffer", {"Q": 80, "optimize_coding": True, "interlace": True, "keep": "none"}),
    "webp": ("webpsave_buffer", {"Q": 80, "effort": 2, "keep": "none"}),
    "avif": ("heifsave_buffer", {"Q": 62, "effort": 1, "compression": "av1", "keep": "none"}),
}
_SHARP = """
const sharp = require('sharp'), fs = require('fs');
sharp.cache(false); sharp.concurrency(1);
const source = fs.readFileSync(process.argv[2]), rounds = +process.argv[3];
const write = {jpeg: s => s.jpeg({quality: 80, progressive: true}), webp: s => s.webp({quality: 80, effort: 2}),
               avif: s => s.avif({quality: 62, effort: 1})};
(async () => {
  const found = {};
  for (const [name, to] of Object.entries(write)) {
    const spent = [];
    for (let at = 0; at <= rounds; at++) {
      const before = process.cpuUsage();
      const made = await to(sharp(source).rotate().resize({width: 800, withoutEnlargement: true})).toBuffer();
      const used = process.cpuUsage(before);
      fs.writeFileSync('sharp.' + name, made);
      if (at) spent.push((used.user + used.system) / 1000);
    }
    found[name] = spent.sort((a, b) => a - b)[Math.floor(spent.length / 2)];
  }
  console.log(JSON.stringify(found));
})();
"""


def photograph() -> bytes:
    """Make a JPEG with edges, gradients and grain, as a camera would: about 4 MB."""
    grain = pyvips.Image.gaussnoise(WIDTH, HEIGHT, sigma=6, seed=1).gaussblur(0.8)
    coarse = [pyvips.Image.perlin(WIDTH, HEIGHT, cell_size=size, seed=size) for size in (16, 64, 512)]
    grey = sum((each * strength for each, strength in zip(coarse, (30, 50, 90), strict=True)), grain) + 110
    shapes = (pyvips.Image.perlin(WIDTH, HEIGHT, cell_size=200, seed=9) > 0.1) / 255 * 40
    bands = grey.bandjoin([grey * 0.9 + shapes, grey.fliphor() * 0.4 + grey * 0.5])
    return bytes(bands.cast("uchar").copy(interpretation="srgb").jpegsave_buffer(Q=88))


def directly(source: bytes, output: Output) -> bytes:
    """Call the library as a program of its own would."""
    saver, options = _SAVERS[output]
    image = pyvips.Image.thumbnail_buffer(source, WANTED.width, height=100_000, size="down")
    return bytes(getattr(image, saver)(**options))


def in_process(source: bytes, rounds: int, figures: Figures) -> dict[str, float]:
    """Compare the library with `render`; give the CPU milliseconds of `render` by format."""
    prepare()
    limits, found = DecoderLimits(), {}
    ways: dict[str, Callable[[Output], object]] = {
        "libvips": lambda output: directly(source, output),
        "render": lambda output: render(source, WANTED, output, limits),
    }
    for output in OUTPUTS:
        spent: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds + 1):
            for name, way in ways.items():
                before = time.process_time()
                way(output)
                spent[name].append((time.process_time() - before) * 1000)
        own, other = (statistics.median(spent[name][1:]) for name in ("render", "libvips"))
        print(
            f"{output:5} libvips {other:6.1f} ms CPU, {1000 / other:5.1f}/s a core; render {own:6.1f} ms, "
            f"{1000 / own:5.1f}/s; ratio {own / other:.2f}"
        )
        figures.add(f"{output}: render to libvips", own / other, "x")
        figures.add(f"{output}: CPU of render", own, "ms")
        found[output] = own
    return found


async def threads_and_processes(path: Path, rounds: int, figures: Figures) -> None:
    """Compare a thread of this process with a decoder process, for a large and for a tiny picture."""
    limits = DecoderLimits()
    decoders = DecoderProcesses(limits, processes=1, idle_timeout=600)
    tiny = path.with_name("tiny.png")
    tiny.write_bytes(pyvips.Image.black(4, 4, bands=3).copy(interpretation="srgb").pngsave_buffer())
    began = time.perf_counter()
    for name, source, transform, count in (
        ("12 MP", path, WANTED, rounds * 3),
        ("4x4", tiny, Transform(2, 2), 300),
    ):
        job = DecoderJob(transform, "webp")
        data = source.read_bytes()
        with source.open("rb") as file, tempfile.TemporaryFile() as result:

            async def decoder(
                job: DecoderJob = job, source: int = file.fileno(), result: int = result.fileno()
            ) -> None:
                async with decoders.places:
                    made = await decoders.render(job, source, result)
                os.pread(result, made.size, 0)

            async def thread(data: bytes = data, transform: Transform = transform) -> None:
                await asyncio.to_thread(render, data, transform, "webp", limits)

            await decoder()
            if name == "12 MP":
                print(
                    f"start of a decoder and its first render: {(time.perf_counter() - began) * 1000:.0f} ms"
                )
            for label, way in (("thread", thread), ("decoder", decoder)):
                here, there, wall = await _cost(way, decoders.pids, count)
                print(
                    f"{name:5} {label:8} {wall:7.2f} ms; CPU {here + there:7.2f} ms (here {here:.2f}, there {there:.2f})"
                )
    resting = _own_mb(decoders.pids[0])
    print(f"a decoder that rests: {resting:.0f} MB of its own")
    figures.add("a decoder that rests: memory", resting, "MB")
    await decoders.close()


async def _cost(
    way: Callable[[], Awaitable[None]], pids: list[int], count: int
) -> tuple[float, float, float]:
    """Give CPU milliseconds here and in other processes, and milliseconds of the clock, each for one call."""
    await way()
    before, here, began = _cpu(pids), time.process_time(), time.perf_counter()
    for _ in range(count):
        await way()
    wall, here, there = time.perf_counter() - began, time.process_time() - here, _cpu(pids) - before
    return here / count * 1000, there / count * 1000, wall / count * 1000


async def over_the_broker(source: bytes, server: NatsServer, folder: Path, count: int) -> None:
    """Ask a pool over the broker: other orders each time, then the same one."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workers", "images",
        env={**os.environ, "HEADWATER_BROKER_URL": server.url, "HEADWATER_DATA": str(folder), "HEADWATER_LOG_LEVEL": "warning"},
    )  # fmt: skip
    store, connection = BlobStore.open(Storage(), folder), await NatsConnection.open(server.url, name="bench")
    try:
        blob = BlobReference("b", str(uuid4()))
        await store.put_small(blob_names.blob(blob.bucket, blob.version), source)
        calls = Calls(connection)
        while (await _health(calls)) != 200:
            await asyncio.sleep(0.05)
        print(f"the pool without decoders: {_own_mb(process.pid):.0f} MB of its own")
        for output in OUTPUTS:
            orders = [RenderOrder(blob, Transform(width=700 + at), output) for at in range(count)]
            await _drive(f"{output} new", calls, process.pid, server.pid, orders)
        await _drive("kept", calls, process.pid, server.pid, orders[:1] * 2000)
    finally:
        process.terminate()
        await process.wait()
        await connection.close()
        await store.close()


async def _drive(name: str, calls: Calls, worker: int, server: int, orders: list[RenderOrder]) -> None:
    """Ask for all orders, four at a time, and print what that took."""
    line, took = iter(orders), list[float]()

    async def ask(order: RenderOrder) -> None:
        began = time.perf_counter()
        answer = await calls.call(subjects.IMAGES, Request("b", "POST", "/", body=encode(order)))
        assert answer.response.status == 200, answer.response.body
        took.append((time.perf_counter() - began) * 1000)

    async def asker() -> None:
        for order in line:
            await ask(order)

    await ask(next(line))
    family = [worker, *(child.pid for child in psutil.Process(worker).children(recursive=True))]
    before = [_cpu([pid]) for pid in (*family, server)]
    began = time.perf_counter()
    await asyncio.gather(*(asker() for _ in range(4)))
    wall = time.perf_counter() - began
    late = [child.pid for child in psutil.Process(worker).children(recursive=True) if child.pid not in family]
    spent = [_cpu([pid]) - at for pid, at in zip((*family, server), before, strict=True)]
    decoders, count = sum(spent[1:-1]) + _cpu(late), len(orders) - 1
    print(
        f"pool {name:9} {count / wall:7.1f}/s, p50 {statistics.median(took):7.2f} ms; CPU ms each: decoders "
        f"{decoders / count * 1000:.2f}, worker {spent[0] / count * 1000:.2f}, nats {spent[-1] / count * 1000:.2f}"
    )


async def _health(calls: Calls) -> int:
    try:
        answer = await calls.call(subjects.health("images"), Request("h", "GET", "/", budget_ms=1000))
    except Exception:  # it is not there yet
        return 0
    return answer.response.status


def with_sharp(path: Path, rounds: int, ours: dict[str, float]) -> None:
    """Compare with sharp, installed into a folder that is dropped."""
    if not shutil.which("npm"):
        print("sharp: there is no npm")
        return
    folder = path.parent
    done = subprocess.run(
        ["npm", "install", "--no-fund", "--no-audit", "sharp"], cwd=folder, capture_output=True, check=False
    )
    if done.returncode:
        print("sharp: it could not be installed")
        return
    for output, spent in sharp_alone(folder, path, rounds).items():
        print(
            f"{output:5} sharp {spent:6.1f} ms CPU; render {ours[output]:.1f}; ratio {ours[output] / spent:.2f}"
        )


def sharp_alone(folder: Path, path: Path, rounds: int) -> dict[str, float]:
    """Return the CPU milliseconds of sharp by format, from a folder where it is installed; it writes `sharp.<format>` there."""
    (folder / "bench.js").write_text(_SHARP)
    done = subprocess.run(
        ["node", "bench.js", str(path), str(rounds)], cwd=folder, capture_output=True, check=True
    )
    costs: dict[str, float] = json.loads(done.stdout)
    return costs


def _cpu(pids: list[int]) -> float:
    """Give the CPU seconds of some processes, all their threads, those that have ended as well."""
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(each.user + each.system for each in times)


def _own_mb(pid: int) -> float:
    """Give the memory that would be free without a process."""
    return float(psutil.Process(pid).memory_full_info().uss) / 2**20


async def _asynchronous(source: bytes, path: Path, rounds: int, figures: Figures) -> None:
    await threads_and_processes(path, rounds, figures)
    async with running_server() as server:
        await over_the_broker(source, server, path.parent, rounds * 6)


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description="Benchmark of image transformation.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sharp", action="store_true")
    add_record_option(parser)
    asked = parser.parse_args()
    if os.environ.get("VIPS_CONCURRENCY") != "1":  # the library reads it when it is loaded
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.bench.images", *sys.argv[1:]],
            {**os.environ, "VIPS_CONCURRENCY": "1"},
        )
    with tempfile.TemporaryDirectory(prefix="headwater-images-") as folder:
        path = Path(folder) / "photograph.jpg"
        source = photograph()
        path.write_bytes(source)
        print(
            f"{WIDTH}x{HEIGHT}, {len(source) / 2**20:.1f} MiB -> {WANTED.width} pixels; libvips {pyvips.version(0)}.{pyvips.version(1)}"
        )
        figures = Figures("images", BUDGETS)
        ours = in_process(source, asked.rounds, figures)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_asynchronous(source, path, asked.rounds, figures))
        if asked.sharp:
            with_sharp(path, asked.rounds, ours)
    figures.finish(asked.record)


if __name__ == "__main__":
    main()
