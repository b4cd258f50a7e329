import pytest

from services.supervisor.processes.log_files import (
    LogFile,
    log_name,
    notice_in,
    reason_in,
    refusal_in,
    warning_in,
)
from tests.full_disk import full_disk


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"2026-01-01 UTC [1] FATAL:  could not bind", "could not bind"),
        (b"2026-01-01 UTC [1] WARNING:  collation changed", "collation changed"),
        (b"2026-01-01 UTC [1] ERROR:  duplicate key value", None),
        (b"2026-01-01 UTC [1] LOG:  listening", None),
        (b"2026-01-01 UTC [1] FATAL:  terminating connection due to administrator command", None),
        (b"[1] 2026/01/01 [ERR] no space left", "no space left"),
        (b"[1] 2026/01/01 [INF] ready", None),
        (b"[1] 2026/01/01 [WRN] Plaintext passwords detected, use nkeys or bcrypt", None),
        (b'{"level": "warning", "event": "slow", "reason": "x", "other": 1}', "slow (reason: x)"),
        (b'{"level": "info", "event": "started"}', None),
        (b'{"level": "warning"', None),
        (b"\xff\xfe", None),
    ],
)
def test_only_what_needs_a_look_reaches_the_terminal(line, shown):
    assert warning_in(line) == shown


def test_the_reason_of_an_end_is_its_last_warning_else_its_last_words():
    assert reason_in(["[1] FATAL:  lock file exists", "HINT: look", ""]) == "lock file exists"
    assert reason_in(["one", "two", " "]) == "two"
    assert reason_in([]) == "it wrote nothing"


def test_lines_are_given_when_they_are_complete(tmp_path):
    log = LogFile(tmp_path / "x.log")

    assert log.write(b"one\ntw") == [b"one"]
    assert log.write(b"o\n\n") == [b"two", b""]
    assert list(log.tail) == ["one", "two"]

    log.close()


def test_a_log_is_private_and_turned_over_by_size(tmp_path):
    path = tmp_path / "x.log"
    log = LogFile(path, limit=10, older_files=2)
    for number in range(5):
        log.write(f"line {number}!\n".encode())
    log.close()

    assert path.read_text() == "line 4!\n"
    assert [log_name(path, number).read_text() for number in (1, 2)] == ["line 3!\n", "line 2!\n"]
    assert not log_name(path, 3).exists()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_log_that_cannot_be_turned_over_goes_on_in_its_file(tmp_path):
    path = tmp_path / "x.log"
    log_name(path, 1).mkdir()
    log = LogFile(path, limit=10, older_files=1)

    log.write(b"line 0!\n")
    log.write(b"line 1!\n")
    assert path.read_text() == "line 0!\nline 1!\n"

    log_name(path, 1).rmdir()
    log.write(b"line 2!\n")
    log.close()
    assert path.read_text() == "line 2!\n"


def test_a_full_disk_ends_neither_the_platform_nor_the_log(tmp_path):
    log = LogFile(tmp_path / "x.log", limit=20)
    log.write(b"before\n")
    with full_disk():
        log.write(b"lost\n" * 3)
        log.write(b"lost\n" * 3)
    log.write(b"after\n")
    with full_disk():
        log.write(b"lost\n")
        log.close()

    assert log_name(log.path, 1).read_text() == "before\n"
    assert log.path.read_text() == "after\n"


def test_a_line_without_end_does_not_grow_in_memory(tmp_path):
    log = LogFile(tmp_path / "x.log")

    assert [len(line) for line in log.write(b"x" * 20_000)] == [20_000]
    assert log.write(b"\n") == [b""]

    log.close()


def test_a_closed_log_takes_no_harm_from_late_output(tmp_path):
    log = LogFile(tmp_path / "x.log")
    log.close()

    assert log.write(b"late\n") == [b"late"]


def test_a_refusal_is_given_whole_in_its_own_words():
    tail = ["something else", "! file, line 2: wrong", "! ", "!   select x", "!          ^"]

    assert refusal_in(tail) == "file, line 2: wrong\n\n  select x\n         ^"
    assert refusal_in(["nothing"]) is None


def test_a_step_of_a_child_is_told_and_its_other_lines_are_not():
    assert notice_in(b'{"level": "notice", "event": "Applied a"}') == "Applied a"
    assert notice_in(b'{"level": "notice", ') is None
    assert notice_in(b'{"level": "info", "event": "x"}') is None
