import subprocess
import sys

_PROGRAM = """
import gc
from broker.processes.collector import THRESHOLDS, settle_collector
cycle = []
cycle.append(cycle)
del cycle
settle_collector()
assert gc.get_threshold() == THRESHOLDS and gc.isenabled()
assert gc.get_freeze_count() > 1000 and gc.collect() == 0
"""


def test_a_settled_collector_leaves_out_what_was_loaded() -> None:
    subprocess.run([sys.executable, "-c", _PROGRAM], check=True, timeout=60)
