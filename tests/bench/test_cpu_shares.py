import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.cpu_shares import ShareGroup, SharesUnavailable


def test_a_process_gets_no_more_than_its_share_until_the_group_is_closed() -> None:
    name = f"test-{os.getpid()}"
    try:
        group = ShareGroup(name, 0.1)
    except SharesUnavailable as reason:
        pytest.skip(f"needs the right to create control groups: {reason}")
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            group.add([busy.pid])
            while not group.throttled()[1]:  # a process that never waits uses its share up
                assert busy.poll() is None
            assert name in Path(f"/proc/{busy.pid}/cgroup").read_text()
            group.close()
            assert name not in Path(f"/proc/{busy.pid}/cgroup").read_text()
        finally:
            busy.kill()
