"""What an append to the log of short blobs costs, in turns of two checkouts and of one against itself.

    python -m tests.bench.short_log --other CHECKOUT [--pairs 30] [--folder DIR]

Each turn is a process that appends 300 records of eight blobs of 10 KB, and counts its own CPU time in the appends alone. The
folder must be on a disk that the log is made for (ext4, XFS). Printed: the median of new / old and of old / old, with quartiles.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from uuid import uuid4

_RECORDS, _BLOBS, _SIZE = 300, 8, 10_000


def append_records(folder: Path) -> dict[str, float]:
    """Append the records in a folder; return microseconds of CPU for each."""
    from broker.blobs.blob_names import blob
    from broker.blobs.short_log import ShortLog
    from broker.blobs.short_log_records import LoggedBlob

    log = ShortLog(folder, first=0)
    while log.needs_care:
        log.maintain()
    data = os.urandom(_SIZE)
    user_s = system_s = 0.0
    for _ in range(_RECORDS):
        blobs = [LoggedBlob(blob("b", uuid4()), data) for _ in range(_BLOBS)]
        before = resource.getrusage(resource.RUSAGE_SELF)
        is_stored = log.append(blobs)
        after = resource.getrusage(resource.RUSAGE_SELF)
        user_s, system_s = (
            user_s + after.ru_utime - before.ru_utime,
            system_s + after.ru_stime - before.ru_stime,
        )
        if not is_stored:
            raise RuntimeError("the log took no record: is the folder on ext4 or XFS?")
        while log.needs_care:
            log.maintain()
    log.close()
    return {"user": user_s / _RECORDS * 1e6, "system": system_s / _RECORDS * 1e6}


def turn(checkout: Path, folder: Path) -> dict[str, float]:
    """Measure the code of a checkout in a process of its own."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), "--append", place],
            env={**os.environ, "PYTHONPATH": str(checkout)}, cwd=place, capture_output=True, text=True, check=True,
        )  # fmt: skip
    return dict(json.loads(done.stdout))


def main() -> None:
    """Run the turns and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--other", type=Path, help="the checkout to compare with")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--append", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.append is not None:
        print(json.dumps(append_records(asked.append)))
        return
    own = Path(__file__).resolve().parents[2]
    new, old, again = list[dict[str, float]](), list[dict[str, float]](), list[dict[str, float]]()
    for _ in range(asked.pairs):
        old.append(turn(asked.other, asked.folder))
        new.append(turn(own, asked.folder))
        again.append(turn(asked.other, asked.folder))
    for kind in ("user", "system"):
        for name, some in (("new / old", new), ("old / old", again)):
            ratios = [one[kind] / two[kind] for one, two in zip(some, old, strict=True) if two[kind]]
            low, _, high = quantiles(ratios, n=4)
            print(f"{kind:6} {name}: {median(ratios):.2f} (quartiles {low:.2f} to {high:.2f})")
        print(
            f"{kind:6} old {median(each[kind] for each in old):.0f} us, new {median(each[kind] for each in new):.0f} us, of the best {min(each[kind] for each in old):.0f} and {min(each[kind] for each in new):.0f}"
        )


if __name__ == "__main__":
    main()
