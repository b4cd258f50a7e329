"""A disk that loses what it had confirmed: the end of the log of short uploads, and files that only that log had made durable.

The platform says how many acknowledged records are missing, names the objects that are lost, and serves all others.
"""

import json
import os
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from broker.blobs.file_systems import overwrites_in_place
from broker.blobs.short_log_records import BLOCK
from tests.faults.killed_platform import killed_platform
from tests.platform import Platform
from tests.run.memory_folder import on_disk

pytestmark = [pytest.mark.process_group("lying disk"), pytest.mark.timeout(300)]

_OBJECTS, _SIZE = 200, 6_000
_RECORD = 2 * BLOCK
"""At least the size of the record of one object."""
_PATIENCE_S = 90


def _send(platform: Platform, path: str, data: bytes, kind: str = "text/plain") -> None:
    key = platform.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": kind}
    request = urllib.request.Request(platform.url + path, data, headers, method="POST")
    with urllib.request.urlopen(request, timeout=30):
        pass


def test_what_a_disk_lost_after_it_was_acknowledged_is_counted_and_named() -> None:
    with on_disk(), killed_platform() as place:
        if not overwrites_in_place(place.folder):
            pytest.skip("the folder of the tests is on a file system where no log is written")
        platform = place.start()
        _send(platform, "/storage/v1/bucket", b'{"name": "open", "public": true}', "application/json")

        def upload(number: int) -> None:
            _send(platform, f"/storage/v1/object/open/{number}", bytes([number]) * _SIZE)

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(upload, range(_OBJECTS - 1)))
        upload(_OBJECTS - 1)
        place.kill_all(platform)
        (log,) = (
            path for path in (place.data / "storage" / "short-log").glob("*.log") if _end(path.read_bytes())
        )
        content = log.read_bytes()
        os.truncate(log, _end(content) - _RECORD)
        for path in (place.data / "storage" / "objects").rglob("*"):
            if path.is_file() and path.read_bytes() == bytes([_OBJECTS - 1]) * _SIZE:
                path.write_bytes(bytes(_SIZE))

        platform = place.start()

        finding = _finding(platform)
        assert finding["level"] == "error"
        assert "1 acknowledged records are missing" in finding["told"]
        assert f"1 objects have lost their bytes: open/{_OBJECTS - 1}" in finding["told"]
        # Whoever opened the folder first replayed it.
        logs = "".join(path.read_text(errors="replace") for path in (place.data / "logs").glob("*.log"))
        assert "ShortLogRecordsMissing" in logs
        assert "ObjectsLost" in place.log("pools")
        for number in range(_OBJECTS - 1):
            assert platform.get(f"/storage/v1/object/public/open/{number}") == (200, bytes([number]) * _SIZE)


def _end(content: bytes) -> int:
    """Return where the records of a log end."""
    return max(
        (at + BLOCK for at in range(BLOCK, len(content), BLOCK) if any(content[at : at + BLOCK])), default=0
    )


def _finding(platform: Platform) -> dict[str, str]:
    """Return what `doctor` says of short uploads once the objects were compared."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        findings = json.loads(platform.command("doctor", "--json").stdout)
        told: list[dict[str, str]] = [each for each in findings if each["title"] == "short uploads"]
        if told and "are compared when" not in told[0]["told"]:
            return told[0]
        assert time.monotonic() < deadline, findings
        time.sleep(1)  # a poll of a command
