"""Our `render` beside sharp: CPU for a picture of 12 megapixels made 800 pixels wide, with the same options of libvips.

    python -m tests.bench.peers.pictures FOLDER ROUNDS REPEAT      one line of JSON on standard output

A program of its own, because libvips reads its number of threads when it is loaded.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.peers.installation import npm_package
from tests.bench.peers.pairs import PairedRuns, Sample

PACKAGE = "sharp@0.35.5"


def compare(repeat: int) -> list[PairedRuns]:
    """Return the runs of both by format. Raises: PeerUnavailable."""
    folder = npm_package("sharp", PACKAGE)
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.peers.pictures", str(folder), "2", str(repeat)],
        env={**os.environ, "VIPS_CONCURRENCY": "1"},
        stdout=subprocess.PIPE,
        check=True,
    )
    costs: dict[str, dict[str, list[float]]] = json.loads(done.stdout)
    return [
        PairedRuns("sharp", f"12 MP to {name}", _samples(sides["ours"]), _samples(sides["theirs"]))
        for name, sides in costs.items()
    ]


def _samples(costs: list[float]) -> list[Sample]:
    """Return milliseconds of CPU as runs: on one core, as many pictures a second as their CPU allows."""
    return [Sample(1, milliseconds / 1000, milliseconds) for milliseconds in costs]


def _main() -> None:
    import pyvips

    from tests.bench.images import OUTPUTS, WANTED, photograph, sharp_alone
    from workers.images.limits import DecoderLimits
    from workers.images.render import prepare, render

    installed, rounds, repeat = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    prepare()
    costs: dict[str, dict[str, list[float]]] = {output: {"ours": [], "theirs": []} for output in OUTPUTS}
    with tempfile.TemporaryDirectory(prefix="headwater-pictures-") as folder:
        path = Path(folder) / "photograph.jpg"
        path.write_bytes(source := photograph())
        for _ in range(repeat):
            for output in OUTPUTS:
                spent, made = [], b""
                for _ in range(rounds + 1):
                    before = time.process_time()
                    made = render(source, WANTED, output, DecoderLimits()).data or source
                    spent.append((time.process_time() - before) * 1000)
                costs[output]["ours"].append(statistics.median(spent[1:]))
                _check(pyvips, made)
            for output, cost in sharp_alone(installed, path, rounds).items():
                costs[output]["theirs"].append(cost)
                _check(pyvips, (installed / f"sharp.{output}").read_bytes())
    print(json.dumps(costs))


def _check(pyvips: object, made: bytes) -> None:
    width = pyvips.Image.new_from_buffer(made, "").width  # type: ignore[attr-defined]  # the module
    if width != 800:
        raise SystemExit(f"a picture is {width} pixels wide")


if __name__ == "__main__":
    _main()
