"""What clients may tell of themselves. Reference, section 15; RFC 7591; RFC 8252, 7."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import near_text
from workers.auth.federation.oauth_server.registration import (
    ClientBody,
    Registration,
    fault_of_redirect_uri,
    read_registration,
)
from workers.auth.model.errors import OAuthError

URI = "https://client.example/callback"


def read(**told: object) -> Registration:
    return read_registration(ClientBody(**{"redirect_uris": [URI], **told}))  # type: ignore[arg-type]  # wrong ones too


def refusal(**told: object) -> str:
    with pytest.raises(OAuthError) as caught:
        read(**told)
    assert caught.value.status == 400
    return caught.value.error


def test_a_client_that_tells_nothing_else_is_confidential() -> None:
    assert read() == Registration((URI,), ("authorization_code", "refresh_token"), "client_secret_basic")


@pytest.mark.parametrize(
    ("told", "method"),
    [
        ({"client_type": "public"}, "none"),
        ({"token_endpoint_auth_method": "none"}, "none"),
        ({"client_type": "public", "token_endpoint_auth_method": "none"}, "none"),
        ({"client_type": "confidential"}, "client_secret_basic"),
        ({"token_endpoint_auth_method": "client_secret_post"}, "client_secret_post"),
    ],
)
def test_type_and_method_follow_from_each_other(told: dict[str, str], method: str) -> None:
    found = read(**told)

    assert found.method == method
    assert found.is_public == (method == "none")


@pytest.mark.parametrize(
    "told",
    [
        {"client_type": "public", "token_endpoint_auth_method": "client_secret_post"},
        {"client_type": "confidential", "token_endpoint_auth_method": "none"},
        {"client_type": "secret"},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"grant_types": ["password"]},
        {"grant_types": ["implicit", "authorization_code"]},
        {"grant_types": ["refresh_token"]},
        {"grant_types": []},
        {"response_types": ["token"]},
        {"response_types": ["code", "token"]},
        {"client_name": "x" * 1025},
        {"client_name": "one\ntwo"},
        {"client_name": "\u202etxt"},
        {"client_uri": "javascript:alert(1)"},
        {"client_uri": "https://client.example/" + "x" * 2048},
        {"logo_uri": "data:image/png;base64,AA=="},
        {"logo_uri": "http://client.example/logo.png"},
        {"logo_uri": "app://logo"},
    ],
)
def test_other_metadata_is_refused(told: dict[str, object]) -> None:
    assert refusal(**told) == "invalid_client_metadata"


@pytest.mark.parametrize("uris", [[], [URI] * 11])
def test_there_are_one_to_ten_addresses(uris: list[str]) -> None:
    assert refusal(redirect_uris=uris) == "invalid_redirect_uri"


@pytest.mark.parametrize(
    "uri",
    [
        URI,
        "https://client.example:8443/a?b=c",
        "https://10.0.0.1/cb",
        "http://localhost/cb",
        "http://localhost:49152/cb",
        "http://127.0.0.1:8080",
        "http://[::1]:8080/cb",
        "com.example.app:/callback",
        "com.example-two.app+dev://callback",
        "https://client.example/" + "x" * (2048 - 23),
    ],
)
def test_these_addresses_are_fine(uri: str) -> None:
    assert fault_of_redirect_uri(uri) == ""
    assert read(redirect_uris=[uri]).redirect_uris == (uri,)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "/callback",
        "//client.example/callback",
        "client.example/callback",
        "https:",
        "https://",
        "https:///callback",
        "https:client.example/callback",
        "https://client.example/callback#",
        "https://client.example/callback#fragment",
        "http://client.example/callback",
        "HTTP://client.example/callback",
        "http://localhost.client.example/callback",
        "http://127.0.0.1.client.example/callback",
        "http://2130706433/callback",
        "http://127.1/callback",
        "http://0.0.0.0/callback",
        "http://localhost@client.example/callback",
        "https://user:pass@client.example/callback",
        "http://localhost\\@client.example/callback",
        "https://client.example:99999/callback",
        "https://client.example:port/callback",
        "https://cliént.example/callback",
        "https://client.example/a b",
        "https://client.example/a,b",
        "https://client.example/\n",
        "https://client.example/\0",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java\tscript:alert(1)",
        " javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "vbscript:x",
        "about:blank",
        "blob:https://client.example/1",
        "view-source:https://client.example/",
        "myapp://callback",
        "ms-settings:privacy",
        "MS-Settings:privacy",
        "search-ms:query=x",
        "ldap://client.example/",
        "intent://client.example/#Intent;end",
        "intent:x",
        "mailto:a@client.example",
        ".app:/x",
        "app.:/x",
        "https://client.example/" + "x" * (2049 - 23),
    ],
)
def test_these_addresses_are_refused(uri: str) -> None:
    assert fault_of_redirect_uri(uri) != ""
    assert refusal(redirect_uris=[URI, uri]) == "invalid_redirect_uri"


@pytest.mark.parametrize("uri", ["myapp://callback", "cursor://anysphere.cursor-retrieval/oauth/cb"])
def test_an_administrator_may_name_schemes_without_a_dot(uri: str) -> None:
    assert fault_of_redirect_uri(uri, is_own=True) == ""


@pytest.mark.parametrize("uri", ["ms-settings:x", "ldap://a.example", "javascript:alert(1)", "intent:x"])
def test_nobody_names_schemes_that_a_system_acts_upon(uri: str) -> None:
    assert fault_of_redirect_uri(uri, is_own=True) != ""


NEAR = [
    URI,
    "http://127.0.0.1:8123/callback",
    "http://[::1]/",
    "com.example.app:/callback",
    "https://[2001:db8::1]:443/a?b#",
]


@given(
    near_text(NEAR, ["https:", "http:", "//", "@", ":", "#", "[", "]", "%", "\\", "javascript:"])
    | st.text(max_size=60)
)
@settings(max_examples=300)
def test_any_text_near_an_address_is_judged(uri: str) -> None:
    fault = fault_of_redirect_uri(uri)

    assert isinstance(fault, str)
    if not fault:
        assert uri.isprintable()
        assert "#" not in uri
        assert not uri.lower().startswith(("javascript:", "data:", "vbscript:", "file:", "blob:", "about:"))


def test_a_change_keeps_what_it_does_not_name() -> None:
    old = read(
        client_name="old",
        client_uri="https://client.example/",
        token_endpoint_auth_method="client_secret_post",
    )

    assert read_registration(ClientBody(), old) == old
    changed = read_registration(ClientBody(client_name="new", client_uri=""), old)
    assert (changed.name, changed.uri, changed.redirect_uris) == ("new", "", old.redirect_uris)
    assert changed.method == "client_secret_post"


@pytest.mark.parametrize("told", [{"client_type": "public"}, {"token_endpoint_auth_method": "none"}])
def test_a_client_keeps_its_type(told: dict[str, str]) -> None:
    with pytest.raises(OAuthError):
        read_registration(ClientBody(**told), read())


def test_a_client_cannot_lose_all_its_addresses() -> None:
    with pytest.raises(OAuthError):
        read_registration(ClientBody(redirect_uris=[]), read())
