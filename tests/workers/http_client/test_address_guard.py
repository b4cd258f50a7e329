import contextlib
import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from workers.http_client.address_guard import PRIVATE, AddressGuard, is_public, make_guard

OWN = make_guard([], "http://127.0.0.1:54321", ["http://kong:8000", "https://api.example.com"])


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("64:ff9b::5db8:d822", True),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:a00:1::", False),
        ("::ffff:169.254.169.254", False),
        ("169.254.169.254", False),
        ("fd00:ec2::254", False),
        ("100.100.100.200", False),
        ("255.255.255.255", False),
        ("::", False),
        ("a.org", False),
    ],
)
def test_public_addresses_are_known(address: str, expected: bool):
    assert is_public(address) is expected


@given(st.ip_addresses(v=4))
def test_an_address_inside_another_is_judged_too(address: ipaddress.IPv4Address):
    number = int(address)
    inside = [
        ipaddress.IPv6Address((0xFFFF << 32) | number),
        ipaddress.IPv6Address((0x64FF9B << 96) | number),
        ipaddress.IPv6Address((0x2002 << 112) | number << 80),
    ]

    if not is_public(str(address)):
        assert not any(is_public(str(each)) for each in inside)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:1/",
        "http://a.localhost/",
        "http://[::1]/",
        "http://127.1/",
        "http://10.0.0.1./",
    ],
)
def test_private_hosts_are_refused(url: str):
    assert AddressGuard().rejection(URL(url)) == PRIVATE


@pytest.mark.parametrize(
    "url", ["ftp://a.org/", "file:///etc/passwd", "/path", "http:///", "gopher://127.0.0.1/"]
)
def test_other_schemes_are_refused(url: str):
    assert "http" in AddressGuard().rejection(URL(url))


@pytest.mark.parametrize("url", ["http://a.org/", "https://93.184.216.34:8443/x", "http://internal.example/"])
def test_public_addresses_and_names_pass(url: str):
    assert AddressGuard().rejection(URL(url)) == ""


def test_networks_and_hosts_of_the_list_pass():
    guard = make_guard(["10.1.0.0/16", "127.0.0.1:9000", "localhost", "Queue.Internal:80", "::1"])

    for url in ("http://10.1.2.3/", "http://127.0.0.1:9000/", "http://localhost:7/", "http://[::1]/"):
        assert guard.rejection(URL(url)) == ""
    for url in ("http://10.2.0.1/", "http://127.0.0.1:9001/"):
        assert guard.rejection(URL(url)) == PRIVATE
    private = ipaddress.ip_address("10.9.9.9")
    assert guard.allows("queue.internal.", 80, private)
    assert not guard.allows("queue.internal", 81, private)


@pytest.mark.parametrize("entry", ["", "a b", "http://a/", "a/b", "u@a"])
def test_an_entry_that_is_no_place_is_refused(entry: str):
    with pytest.raises(ValueError, match="neither a network"):
        make_guard([entry])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:54321/functions/v1/f?a=%20b", "http://127.0.0.1:54321/functions/v1/f?a=%20b"),
        ("http://kong:8000/rest/v1/t", "http://127.0.0.1:54321/rest/v1/t"),
        ("https://API.example.com/auth/v1", "http://127.0.0.1:54321/auth/v1"),
        ("http://127.0.0.1:54321/metrics", None),
        ("http://127.0.0.1:54321/", None),
        ("http://127.0.0.1:54321/functions/v2/f", None),
        ("http://127.0.0.1:54321/functions/v1/../../metrics", None),
        ("http://127.0.0.1:54321/functions/v1/%2e%2e/%2e%2e/metrics", None),
        ("http://127.0.0.1:54322/functions/v1/f", None),
        ("http://kong/functions/v1/f", None),
        ("ftp://kong:8000/functions/v1/f", None),
    ],
)
def test_the_own_gateway_is_known_by_its_names_and_areas(url: str, expected: str | None):
    assert OWN.gateway_url(URL(url)) == (None if expected is None else URL(expected))


def test_without_a_gateway_nothing_is_own():
    assert AddressGuard().gateway_url(URL("http://127.0.0.1:54321/rest/v1/t")) is None


@given(st.text(max_size=30))
def test_any_text_is_an_entry_or_refused(text: str):
    with contextlib.suppress(ValueError):
        make_guard([text])
