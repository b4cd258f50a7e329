from pathlib import Path

from workers.functions.reach import REMEMBERED_S, Reach, answers


class Net:
    def __init__(self, *up: str) -> None:
        self.up, self.asked = set(up), list[str]()

    def __call__(self, host: str) -> bool:
        self.asked.append(host)
        return host in self.up


def test_a_host_is_asked_once_a_day(tmp_path: Path) -> None:
    net, now = Net("a"), [1000.0]
    reach = Reach(tmp_path / "x" / "hosts.json", net, lambda: now[0])

    assert reach.reachable(["a", "b", "a"]) == {"a"}
    assert Reach(tmp_path / "x" / "hosts.json", net, lambda: now[0]).reachable(["b", "a"]) == {"a"}
    assert sorted(net.asked) == ["a", "b"]

    net.up = {"b"}
    now[0] += REMEMBERED_S
    assert reach.reachable(["a", "b"]) == {"b"}


def test_a_host_that_gives_nothing_is_remembered_as_lost(tmp_path: Path) -> None:
    net = Net("a")
    reach = Reach(tmp_path / "hosts.json", net)
    reach.reachable(["a"])

    reach.lose(["a"])

    assert reach.reachable(["a"]) == frozenset()


def test_what_the_file_holds_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "hosts.json").write_text("{")

    assert Reach(tmp_path / "hosts.json", Net("a")).reachable(["a"]) == {"a"}


def test_a_host_that_is_not_there_does_not_answer() -> None:
    assert not answers("127.0.0.1:1")
    assert not answers("no host at all")
