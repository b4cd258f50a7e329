import subprocess
import sys

import pytest

from broker.processes.title import padded


def test_a_title_ends_with_a_byte_by_which_the_kernel_knows_it():
    assert padded(["python", "-m", "x"], 16) == b"python -m x\0\0\0\0\1"


def test_a_long_title_is_cut_to_the_room_there_is():
    assert padded(["abcdefgh"], 6) == b"abcd\0\1"


@pytest.mark.skipif(sys.platform != "linux", reason="command lines are rewritten on Linux alone")
def test_a_process_shows_the_command_it_was_told_to():
    program = (
        "from broker.processes.title import show_command\nshow_command(['the', 'shown', 'command'])\n"
        "print(open('/proc/self/cmdline').read().rstrip(chr(0)))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert shown.strip() == "the shown command"
