import contextlib

import pytest

from services.cli.logs import Tail


def test_logs_of_nothing_are_one_sentence(project_folder):
    shown = project_folder.run("logs")

    assert shown.returncode == 1
    assert len(shown.stderr.splitlines()) == 1


def test_the_logs_of_all_parts_carry_their_names(shared):
    shown = shared.run("logs").stdout

    assert "postgres   | " in shown
    assert "nats       | " in shown
    assert "supervisor | " in shown


def test_one_part_is_shown_alone_also_after_a_stop(servers):
    servers.run("stop")
    shown = servers.run("logs", "--service", "postgres", "--lines", "1").stdout

    assert len(shown.splitlines()) == 1
    assert "database system is shut down" in shown


def test_an_unknown_part_is_refused_with_the_known_ones(shared):
    shown = shared.run("logs", "-s", "nope")

    assert shown.returncode == 2
    assert "nats" in shown.stderr


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "x.log"
    path.write_text("one\ntwo\nthree\n")
    return path


@pytest.fixture
def tail(log):
    with contextlib.closing(Tail(log, with_name=False)) as opened:
        yield opened


@pytest.mark.parametrize(("count", "shown"), [(0, ""), (2, "two\nthree\n"), (9, "one\ntwo\nthree\n")])
def test_the_last_lines_are_shown(tail, capsys, count, shown):
    tail.show_last(count)

    assert capsys.readouterr().out == shown


def test_following_shows_what_is_added_and_goes_on_in_a_new_file(tail, log, capsys):
    tail.show_last(1)
    with log.open("a") as file:
        file.write("four\nfi")
    tail.show_new()
    log.rename(log.with_name("x.log.1"))
    log.write_text("ve\nsix\n")
    while tail.show_new():
        pass

    assert capsys.readouterr().out == "three\nfour\nfive\nsix\n"


def test_following_goes_on_in_a_file_that_was_emptied(tail, log, capsys):
    tail.show_last(1)
    log.write_text("four\n")
    while tail.show_new():
        pass

    assert capsys.readouterr().out == "three\nfour\n"
