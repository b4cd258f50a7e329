from pathlib import Path

from workers.functions.imports.reachable_hosts import MOST_PROBED, REMEMBERED_S, ReachableHosts, probe_host


class Net:
    def __init__(self, *up: str) -> None:
        self.up, self.asked = set(up), list[str]()

    def __call__(self, host: str) -> bool:
        self.asked.append(host)
        return host in self.up


def test_a_host_is_probed_once_a_day(tmp_path: Path) -> None:
    net, now = Net("a"), [1000.0]
    reach = ReachableHosts(tmp_path / "x" / "hosts.json", net, lambda: now[0])

    assert reach.reachable(["a", "b", "a"]) == {"a"}
    assert ReachableHosts(tmp_path / "x" / "hosts.json", net, lambda: now[0]).reachable(["b", "a"]) == {"a"}
    assert sorted(net.asked) == ["a", "b"]

    net.up = {"b"}
    now[0] += REMEMBERED_S
    assert reach.reachable(["a", "b"]) == {"b"}


def test_a_host_that_does_not_deliver_is_remembered_as_unreachable(tmp_path: Path) -> None:
    net = Net("a")
    reach = ReachableHosts(tmp_path / "hosts.json", net)
    reach.reachable(["a"])

    reach.mark_unreachable(["a"])

    assert reach.reachable(["a"]) == frozenset()


def test_what_one_function_could_not_fetch_is_nothing_to_others(tmp_path: Path) -> None:
    one, other = (
        ReachableHosts(tmp_path / "hosts.json", Net("a"), undelivered=tmp_path / name)
        for name in ("one", "other")
    )

    one.mark_unreachable(["a"])

    assert (one.reachable(["a"]), other.reachable(["a"])) == (frozenset(), {"a"})


def test_the_hosts_of_one_function_are_bounded(tmp_path: Path) -> None:
    net, hosts = Net(), [f"host{number}" for number in range(MOST_PROBED + 5)]
    reach = ReachableHosts(tmp_path / "hosts.json", net)
    reach.mark_unreachable(str(number) for number in range(5000))

    assert len(reach.reachable(hosts)) == 5  # whoever fetches from them will see
    assert len(net.asked) == MOST_PROBED
    assert (tmp_path / "undelivered.json").stat().st_size < 100_000


def test_an_invalid_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "hosts.json").write_text("{")

    assert ReachableHosts(tmp_path / "hosts.json", Net("a")).reachable(["a"]) == {"a"}


def test_a_missing_host_does_not_answer() -> None:
    assert not probe_host("127.0.0.1:1")
    assert not probe_host("no host at all")
