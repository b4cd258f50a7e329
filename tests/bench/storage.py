"""Storage under load: uploads, downloads, lists, signatures, renditions, with CPU per request by process, and memory.

    python -m tests.bench.storage [--workloads upload,download] [--sizes 10000,1000000,100000000] [--connections 1,16]
    python -m tests.bench.storage --memory 1000             growth of every process under 16 uploads of 1,000 MB at once

It starts a platform of its own on the disk of the temporary folder. `plain` is a bare server that does no more than
sendfile, or recv, MD5, write and fsync: what this machine gives at most, with the same load generator beside it. `aiohttp` is a bare aiohttp server that does the same.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.bare_aiohttp import bare_aiohttp
from tests.bench.plain_files import plain_server
from tests.bench.storage_memory import measure_memory
from tests.bench.storage_table import HEADING, PIECE, Target, add, run, show
from tests.bench.table import Budget, Figures, add_record_option
from tests.bench.transfer import Exchange, Transfers, transfer
from tests.platform import Platform, platform
from tests.workers.images.samples import plain, written

SETTINGS = {"HEADWATER_STORAGE_FILE_SIZE_LIMIT": "2GiB", "HEADWATER_STORAGE_DELETED_GRACE": "0"}
BUDGETS = (
    Budget("download 10 KB at 16: rate", 4000, is_least=True),
    Budget("download 1 MB at 16: rate to plain", 0.95, is_least=True),
    Budget("download 100 MB at 16: rate to plain", 0.95, is_least=True),
    Budget("upload 10 KB at 16: rate", 1200, is_least=True),
    Budget("upload 1 MB at 16: rate", 400, is_least=True),
    Budget("upload 100 MB at 16: rate to bare aiohttp", 1.3, is_least=True),
    Budget("list-any at 16: rate", 2500, is_least=True),
)
_FOLDER, _PAGE = 10_000, 100
_SAME = 20
"""So many objects of a size are downloaded in turn, fewer of large ones."""


class Bench:
    """One platform with a bucket, and a plain server beside it."""

    def __init__(
        self,
        one: Platform,
        plain: tuple[tuple[str, int], int],
        aiohttp: tuple[tuple[str, int], int],
        folder: Path,
    ) -> None:
        key = one.values["SERVICE_ROLE_KEY"]
        headers = {"apikey": key, "Authorization": f"Bearer {key}"}
        self.ours = Target(("127.0.0.1", one.port), [one.pid], headers)
        self.plain = Target(plain[0], [plain[1]], {}, is_plain=True)
        self.aiohttp = Target(aiohttp[0], [aiohttp[1]], {}, is_plain=True)
        self.platform, self._folder, self._serial = one, folder, 0

    def once(self, exchange: Exchange) -> None:
        """Do one thing that must go well."""
        done = transfer(self.ours.address, lambda _: exchange, 1, 0)
        if done.errors:
            raise AssertionError(f"{exchange.head[:100]!r}: {done.statuses}")

    def prepare(self) -> None:
        """Make the bucket."""
        self.once(self.ours.post("/storage/v1/bucket", b'{"name":"bench","public":true}'))

    def fresh(self) -> int:
        """Give a number that was not given before."""
        self._serial += 1
        return self._serial

    def empty(self) -> None:
        """Delete what uploads left, and wait until its bytes are gone, so that the disk has room and rest."""
        self.platform.psql(
            "set storage.allow_delete_query = 'true'; delete from storage.objects where name like 'new/%'"
        )
        for path in self._folder.iterdir():
            if path.name.startswith("new"):
                path.unlink()
        deadline = time.monotonic() + 120
        while "0" not in self.platform.psql("select count(*) as left from storage.tombstones").split():
            if time.monotonic() > deadline:
                raise AssertionError("the sweep does not come")
            time.sleep(0.5)
        os.sync()

    def upload(self, size: int) -> tuple[Callable[[int], Exchange], Callable[[int], Exchange]]:
        """Give uploads of new objects, ours and plain."""
        return (
            lambda _: self.ours.upload(f"/storage/v1/object/bench/new/{self.fresh()}", size),
            lambda _: self.plain.upload(f"/new{self.fresh()}", size),
        )

    def upload_to_aiohttp(self, size: int) -> Callable[[int], Exchange]:
        """Give uploads to the aiohttp server."""
        return lambda _: self.aiohttp.upload(f"/new{self.fresh()}", size)

    def download(self, size: int) -> tuple[Callable[[int], Exchange], Callable[[int], Exchange]]:
        """Give downloads of a few objects, ours and plain."""
        count = max(1, min(_SAME, 200_000_000 // size))
        ours, plainly = [], []
        for number in range(count):
            name = f"kept-{size}-{number}"
            self.once(self.ours.upload(f"/storage/v1/object/bench/{name}", size))
            ours.append(self.ours.get(f"/storage/v1/object/public/bench/{name}", size))
            data = (PIECE * (size // len(PIECE) + 1))[:size]
            (self._folder / name).write_bytes(data)
            plainly.append(self.plain.get(f"/{name}", size))
        return lambda number: ours[number % count], lambda number: plainly[number % count]

    def private(self) -> Callable[[int], Exchange]:
        """Give downloads of 10 KB under policies."""
        self.download(10_001)
        asked = [self.ours.get(f"/storage/v1/object/bench/kept-10001-{n}", 10_001) for n in range(_SAME)]
        return lambda number: asked[number % len(asked)]

    def listing(self) -> Callable[[int], Exchange]:
        """Give lists of the first 100 out of 10,000."""
        self._fill()
        return self._pages(1)

    def listing_deep(self) -> Callable[[int], Exchange]:
        """Give lists of 100 out of 10,000 at offsets all over the folder: what lies before is counted by the database."""
        self._fill()
        return self._pages(_FOLDER // _PAGE)

    def _fill(self) -> None:
        self.platform.psql(
            "insert into storage.objects (bucket_id, name, version, metadata) select 'bench', 'many/' || lpad(n::text, 6, '0'), "
            """gen_random_uuid(), '{"size":1,"mimetype":"text/plain","eTag":"\\"x\\""}' """
            f"from generate_series(1, {_FOLDER}) n on conflict do nothing; analyze storage.objects"
        )

    def _pages(self, count: int) -> Callable[[int], Exchange]:
        asked = [
            self.ours.post(
                "/storage/v1/object/list/bench",
                b'{"prefix":"many","limit":%d,"offset":%d}' % (_PAGE, n * _PAGE),
            )
            for n in range(count)
        ]
        return lambda number: asked[number % count]

    def sign(self) -> Callable[[int], Exchange]:
        """Give requests for signed URLs."""
        self.once(self.ours.upload("/storage/v1/object/bench/signed", 100))
        asked = self.ours.post("/storage/v1/object/sign/bench/signed", b'{"expiresIn":3600}')
        return lambda _: asked

    def rendition(self) -> tuple[Callable[[int], Exchange], Callable[[int], Exchange]]:
        """Give requests for a rendition that is made already, and for an object of the same bytes."""
        png = written(plain(800, 600), "png")
        one = self.ours.upload("/storage/v1/object/bench/picture.png", len(png), "image/png")
        self.once(Exchange(one.head, png, len(png)))
        path = "/storage/v1/render/image/public/bench/picture.png?width=400&format=png"
        size = len(self.platform.get(path)[1])
        self.once(self.ours.upload("/storage/v1/object/bench/as-long", size))
        hit, same = self.ours.get(path, size), self.ours.get("/storage/v1/object/public/bench/as-long", size)
        return lambda _: hit, lambda _: same


def measure(bench: Bench, options: argparse.Namespace, figures: Figures) -> bool:
    """Measure every workload, print its line and add its figures; False where a request went wrong."""
    held = True
    wanted = options.workloads.split(",")

    def cell(name: str, target: Target, make: Callable[[int], Exchange], connections: int) -> Transfers:
        nonlocal held
        transfer(target.address, make, connections, min(0.3, options.seconds))
        runs = [run(target, make, connections, options.seconds) for _ in range(options.repeat)]
        if any(outcome.errors for outcome, _ in runs):
            held = False
            figures.wrong(f"{name.strip()}: {[dict(outcome.statuses) for outcome, _ in runs]}")
        if target is bench.ours:
            add(figures, f"{name.strip()} at {connections}", runs)
        return show(name, connections, runs)

    print(HEADING)
    for kind in ("download", "upload"):
        for size in map(int, options.sizes.split(",")) if kind in wanted else ():
            ours, plainly = getattr(bench, kind)(size)
            for connections in map(int, options.connections.split(",")):
                work = f"{kind} {_told(size)}"
                got = cell(work, bench.ours, ours, connections)
                bare = {"plain": cell("   plain", bench.plain, plainly, connections)}
                if kind == "upload" and size >= 10_000_000:
                    make = bench.upload_to_aiohttp(size)
                    bare["bare aiohttp"] = cell("   aiohttp", bench.aiohttp, make, connections)
                for other, line in bare.items():
                    ratio = got.per_second / line.per_second
                    figures.add(f"{work} at {connections}: rate to {other}", ratio, "x")
                    print(f"   ratio to {other} {ratio:.2f}", flush=True)
                if kind == "upload":
                    bench.empty()
    others: dict[str, Callable[[], Callable[[int], Exchange]]] = {
        "private": bench.private,
        "list": bench.listing,
        "list-any": bench.listing_deep,
        "sign": bench.sign,
    }
    for name, prepare in others.items():
        if name in wanted:
            make = prepare()
            for connections in map(int, options.connections.split(",")):
                cell(name, bench.ours, make, connections)
    if "rendition" in wanted:
        hit, same = bench.rendition()
        for connections in map(int, options.connections.split(",")):
            rendered = cell("rendition hit", bench.ours, hit, connections)
            as_object = cell("   as object", bench.ours, same, connections)
            print(f"   ratio to a download {rendered.per_second / as_object.per_second:.2f}")
    return held


def _told(size: int) -> str:
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} KB"


def main() -> int:
    """Run the benchmark; 1 where a budget is missed or a request went wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--workloads", default="download,upload,private,list,list-any,sign,rendition", help="comma separated"
    )
    parser.add_argument("--sizes", default="10000,1000000,100000000", help="bytes, comma separated")
    parser.add_argument("--connections", default="1,16", help="comma separated numbers of connections")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each cell; the median is printed")
    parser.add_argument("--memory", type=int, default=0, help="instead: uploads of so many MB, 16 at once")
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("storage", BUDGETS)
    with (
        platform(environment=SETTINGS) as one,
        tempfile.TemporaryDirectory(prefix="headwater-plain-") as folder,
        plain_server(Path(folder)) as plain_files,
        bare_aiohttp(Path(folder)) as aiohttp,
    ):
        bench = Bench(one, plain_files, aiohttp, Path(folder))
        bench.prepare()
        if options.memory:
            size = options.memory * 1_000_000
            return 0 if measure_memory(one, lambda _: bench.upload(size)[0](0)) else 1
        is_well = measure(bench, options, figures)
    return 0 if figures.finish(options.record) and is_well else 1


if __name__ == "__main__":
    sys.exit(main())
