"""Token buckets, and whose address a request has behind proxies."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.middleware.limits import Buckets, client_address, read_networks
from tests.fuzz.mutate import near_text

PROXIES = read_networks(["10.0.0.0/8", "192.0.2.7", "2001:db8:1::/48", "127.0.0.1/8"])


def test_a_burst_passes_and_the_next_waits_for_one_token() -> None:
    buckets = Buckets(rate=2.0, burst=3)

    assert [buckets.take("a", 100.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_who_waits_as_long_as_told_gets_one_token_and_no_more() -> None:
    buckets = Buckets(rate=2.0, burst=1)
    buckets.take("a", 100.0)
    wait = buckets.take("a", 100.0)

    assert buckets.take("a", 100.0 + wait) == 0.0
    assert buckets.take("a", 100.0 + wait) == wait


def test_a_refused_request_takes_no_token() -> None:
    buckets = Buckets(rate=1.0, burst=1)
    buckets.take("a", 0.0)
    waits = [buckets.take("a", 0.5) for _ in range(50)]

    assert waits == [0.5] * 50
    assert buckets.take("a", 1.0) == 0.0


def test_a_bucket_fills_no_further_than_its_burst() -> None:
    buckets = Buckets(rate=10.0, burst=2)
    buckets.take("a", 0.0)

    assert [bool(buckets.take("a", 1e6)) for _ in range(3)] == [False, False, True]


def test_names_have_buckets_of_their_own() -> None:
    buckets = Buckets(rate=1.0, burst=1)
    buckets.take("a", 0.0)

    assert buckets.take("b", 0.0) == 0.0
    assert buckets.take("a", 0.0) > 0


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_a_rate_of_zero_allows_everything(rate: float) -> None:
    buckets = Buckets(rate, burst=1)

    assert {buckets.take("a", 0.0) for _ in range(1000)} == {0.0}


@pytest.mark.parametrize("burst", [0, -5])
def test_a_burst_below_one_is_one(burst: int) -> None:
    buckets = Buckets(1.0, burst)

    assert buckets.take("a", 0.0) == 0.0
    assert buckets.take("a", 0.0) == 1.0


def test_at_most_a_hundred_thousand_buckets_are_kept_and_the_least_used_go_first() -> None:
    buckets = Buckets(rate=1.0, burst=1)
    buckets.take("oldest", 0.0)
    buckets.take("used", 0.0)
    for number in range(99_998):
        buckets.take(str(number), 0.0)
    buckets.take("used", 0.0)
    buckets.take("one more", 0.0)

    assert len(buckets._levels) == 100_000
    assert buckets.take("used", 0.0) > 0
    assert buckets.take("oldest", 0.0) == 0.0


def test_long_names_do_not_fill_the_memory_and_stay_apart() -> None:
    buckets = Buckets(rate=1.0, burst=1)
    tracemalloc.start()
    try:
        for number in range(100):
            buckets.take("x" * 60_000 + str(number), 0.0)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 200_000
    assert buckets.take("x" * 60_000 + "100", 0.0) == 0.0
    assert buckets.take("x" * 60_000 + "7", 0.0) > 0


@given(st.lists(st.floats(0, 10), max_size=50), st.floats(0.1, 10), st.integers(1, 5))
def test_never_more_passes_than_the_burst_and_the_rate_allow(
    pauses: list[float], rate: float, burst: int
) -> None:
    buckets, now, passed = Buckets(rate, burst), 0.0, 0
    for pause in pauses:
        now += pause
        passed += buckets.take("a", now) == 0.0

    assert passed <= burst + now * rate + 1e-6


@pytest.mark.parametrize("text", ["10.0.0.0/33", "proxy.example", "", "10.0.0"])
def test_a_network_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="IPv4 or IPv6"):
        read_networks([text])


def test_a_network_may_be_written_by_any_address_in_it() -> None:
    assert client_address("10.1.2.3", "203.0.113.9", read_networks(["10.9.9.9/8"])) == "203.0.113.9"


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("203.0.113.1", None, "203.0.113.1"),
        ("203.0.113.1", "198.51.100.1", "203.0.113.1"),  # not from a proxy: anyone may write that
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "198.51.100.1, 10.0.0.2", "198.51.100.1"),
        ("10.0.0.1", "6.6.6.6, 198.51.100.1, 10.0.0.2", "198.51.100.1"),  # what the client itself wrote
        ("10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"),  # all are ours: the farthest
        ("192.0.2.7", " 198.51.100.1 ", "198.51.100.1"),
        ("192.0.2.8", "198.51.100.1", "192.0.2.8"),
        ("2001:db8:1::5", "2001:db8:ffff::1", "2001:db8:ffff::1"),
        ("2001:db8:1::5", "198.51.100.1,2001:db8:1::6", "198.51.100.1"),
        ("2001:db8:2::5", "198.51.100.1", "2001:db8:2::5"),
        ("10.0.0.1", "2001:DB8:FFFF:0::1", "2001:db8:ffff::1"),  # one address, one spelling
        ("::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"),  # IPv4 at a socket of both kinds
        ("10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "198.51.100.1:50112", "198.51.100.1"),  # some proxies add the port
        ("10.0.0.1", "198.51.100.1:50112, 10.0.0.2:443", "198.51.100.1"),
        ("10.0.0.1", "[2001:db8:ffff::1]:443", "2001:db8:ffff::1"),
        ("10.0.0.1", "[2001:db8:ffff::1]", "2001:db8:ffff::1"),
        ("10.0.0.1", "198.51.100.1,,", "198.51.100.1"),
        ("10.0.0.1", ",", "10.0.0.1"),
        ("10.0.0.1", "unknown", "10.0.0.1"),  # garbage names nobody: the last address that is known
        ("10.0.0.1", "198.51.100.1, garbage, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", "198.51.100.1:x:y", "10.0.0.1"),
        ("10.0.0.1", "[2001:db8::1", "10.0.0.1"),
        ("10.0.0.1", "999.1.1.1", "10.0.0.1"),
        ("10.0.0.1", "\udcff", "10.0.0.1"),
        ("10.0.0.1", "x" * 60_000, "10.0.0.1"),
        ("", "198.51.100.1", ""),
        ("/run/socket", "198.51.100.1", "/run/socket"),
    ],
)
def test_the_client_is_the_last_hop_that_is_no_trusted_proxy(
    peer: str, forwarded: str | None, expected: str
) -> None:
    assert client_address(peer, forwarded, PROXIES) == expected


def test_without_trusted_proxies_the_peer_is_the_client() -> None:
    assert client_address("10.0.0.1", "198.51.100.1", []) == "10.0.0.1"


FORWARDED = [
    "198.51.100.1, 10.0.0.2:443",
    "[2001:db8:ffff::1]:443,10.0.0.3",
    "::ffff:198.51.100.1",
    "203.0.113.9,192.0.2.7",
]


@given(near_text(FORWARDED, [",", ":", "[", "]", " ", "::", "10.0.0.1", "%eth0"]) | st.text(max_size=60))
@settings(max_examples=300)
def test_any_forwarded_text_gives_an_address(text: str) -> None:
    found = client_address("10.0.0.1", text, PROXIES)

    assert read_networks([found])
