"""Names of projects, host names and addresses."""

import pytest

from services.projects.model import FrontOptions, ProjectRecord
from services.projects.names import (
    checked_host,
    checked_hosts,
    checked_project_name,
    checked_url,
    path_url,
    project_url,
    server_url,
)
from services.supervisor.errors import StartRefused


@pytest.mark.parametrize("name", ["a", "shop", "shop-2", "a" * 48, "0"])
def test_labels_of_hosts_are_names(name: str) -> None:
    assert checked_project_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "Shop", "-a", "a-", "a_b", "_health", "a.b", "a/b", "..", "a b", "é", "a" * 49, "xn--a", "a\n"],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(StartRefused):
        checked_project_name(name)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "https://a.example",
        "a.example:80",
        "a..b",
        "-a.example",
        "10.0.0.1",
        "::1",
        "a/b",
        "*.example",
        "a b",
        "ä.example",
    ],
)
def test_what_is_no_host_name_is_refused(host: str) -> None:
    with pytest.raises(StartRefused):
        checked_host(host)


def test_hosts_are_unique_and_outside_the_servers_names() -> None:
    other = ProjectRecord("blog", "/b", 0.0, ["api.example.org"])

    assert checked_hosts("shop", ["Shop.Example.org.", "shop.example.org"], "localhost", [other]) == [
        "shop.example.org"
    ]
    assert checked_hosts("blog", ["api.example.org"], "localhost", [other]) == ["api.example.org"]
    for taken in ("api.example.org", "localhost", "blog.localhost"):
        with pytest.raises(StartRefused):
            checked_hosts("shop", [taken], "localhost", [other])


def test_addresses_of_server_and_projects() -> None:
    plain = ProjectRecord("shop", "/s", 0.0)
    named = ProjectRecord("shop", "/s", 0.0, ["shop.example.org", "old.example.org"])
    url = server_url(FrontOptions(port=8000))

    assert (url, project_url(plain, url), path_url(plain, url)) == (
        "http://localhost:8000",
        "http://shop.localhost:8000",
        "http://localhost:8000/shop",
    )
    assert project_url(named, "https://apps.example.org") == "https://shop.example.org"
    assert server_url(FrontOptions(port=443, tls_cert="c", tls_key="k")) == "https://localhost"
    assert checked_url("HTTPS://Apps.example.org:443/") == "https://apps.example.org"


@pytest.mark.parametrize(
    "url",
    [
        "apps.example.org",
        "ftp://a.example",
        "https://",
        "https://a.example/x",
        "https://u@a.example",
        "http://a:port",
        "http://1.2.3.4",
    ],
)
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(StartRefused):
        checked_url(url)
