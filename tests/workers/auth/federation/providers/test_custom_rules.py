"""The rules of providers that an administrator adds."""

from collections.abc import Callable
from typing import Any

import pytest

from workers.auth.federation.providers.custom_rules import (
    check_identifier,
    check_mapping,
    check_parameters,
    check_public,
    check_scopes,
    check_texts,
    is_https,
    refuse_bad_discovery,
    select_discovery,
)
from workers.auth.federation.social.protocol import RESERVED_PARAMETERS, ProviderError
from workers.auth.model.errors import AuthError

ISSUER = "https://id.example.com"
DISCOVERY = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
}


@pytest.mark.parametrize("identifier", ["custom:a", "custom:acme", "custom:a-b:c-1", "custom:" + "a" * 43])
def test_names_have_a_form(identifier: str):
    check_identifier(identifier)


def rejection(check: Callable[[Any], object], value: object) -> str | None:
    try:
        check(value)
    except (AuthError, ProviderError) as error:
        return str(error)
    return None


BROKEN: dict[str, tuple[Callable[[Any], object], list[Any], str]] = {
    "identifier": (
        check_identifier,
        ["", "acme", "custom:", "custom:A", "custom:a_b", "custom:a ", "custom:a-", "custom:é", "custom:" + "a" * 44, "xcustom:a",
         "custom:a\n"],
        "",
    ),
    "reserved parameter": (
        lambda name: check_parameters({"prompt": "login", name: "x"}),
        [*sorted(RESERVED_PARAMETERS), "State", "CLIENT_ID", " state "],
        "authorization_params cannot set",
    ),
    "claim that grants rights": (
        lambda target: check_mapping({"name": "display", target: "x"}),
        ["id", "aud", "role", "app_metadata", "created_at", "confirmed_at", "email_confirmed_at", "email_verified", "banned_until",
         "is_super_admin", "Role"],
        "attribute_mapping cannot set",
    ),
    "mapping": (check_mapping, [{"name": 7}, {"name": ["a"]}, {"name": ""}, {"": "a"}, {f"n{n}": "a" for n in range(200)}], ""),
    "scopes": (check_scopes, [["a b"], [""], ['"'], ["a\\b"], ["é"], ["a\n"]], ""),
    "texts": (lambda texts: check_texts("scopes", texts), [[""], ["\0"], ["x" * 2049], ["x"] * 65], ""),
    "discovery document": (
        lambda change: refuse_bad_discovery({**DISCOVERY, **change}, ISSUER),
        [{"issuer": None}, {"issuer": "https://evil.example.com"}, {"issuer": f"{ISSUER}/"}, {"token_endpoint": ""}, {"jwks_uri": None},
         {"authorization_endpoint": 7}, {"token_endpoint": "http://id.example.com/token"}, {"userinfo_endpoint": "http://x/"},
         {"authorization_endpoint": "javascript:alert(1)"}, {"jwks_uri": "file:///etc/passwd"}],
        "discovery document",
    ),
}  # fmt: skip
"""The check of a rule, values that break it, and words of the error."""


@pytest.mark.parametrize("rule", BROKEN)
def test_what_breaks_a_rule_is_rejected(rule: str):
    check, values, words = BROKEN[rule]
    errors = {repr(value): rejection(check, value) for value in values}

    assert {value: error for value, error in errors.items() if error is None or words not in error} == {}


@pytest.mark.parametrize(
    "url",
    [
        ISSUER,
        "https://id.example.com:8443/a/b?c=d",
        "https://[2001:db8::1]/x",
        "https://xn--bcher-kva.example/",
    ],
)
def test_an_address_is_one_of_https(url: str):
    assert is_https(url)


@pytest.mark.parametrize(
    "url",
    ["", "http://id.example.com", "HTTP://x", "ftp://x", "https://", "https:///x", "https://user@id.example.com",
     "https://user:pass@id.example.com", "https://id.example.com/#x", "https://id.example.com/ x", "https://id.example.com\\@evil",
     "https://id.example.com:port", "https://id.example.com:99999", "https://id.example.com/\n", "https://bücher.example",
     "https://[::1", "//id.example.com", "id.example.com", "https://x/" + "a" * 2048, "javascript:alert(1)"],
)  # fmt: skip
def test_any_other_address_is_refused(url: str):
    assert not is_https(url)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "10.0.0.7", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "[::1]",
     "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[fe80::1]", "[fd00::1]", "[::]", "224.0.0.1", "2130706433", "0x7f000001", "127.1",
     "0177.0.0.1", "localhost.", "127.0.0.1."],
)  # fmt: skip
async def test_a_private_host_is_refused(host: str):
    with pytest.raises(AuthError, match=r"private address|cannot be found"):
        await check_public("issuer", f"https://{host}/x")


async def test_a_public_host_is_taken():
    await check_public("issuer", "https://93.184.216.34/x")
    await check_public("issuer", "https://[2606:2800:220:1:248:1893:25c8:1946]/x")


async def test_a_name_that_leads_nowhere_is_refused():
    with pytest.raises(AuthError, match="The host of issuer cannot be found"):
        await check_public("issuer", "https://nowhere.invalid/")


def test_a_mapping_is_given_as_it_is():
    assert check_mapping({"email": "mail", "sub": "user.id"}) == {"email": "mail", "sub": "user.id"}


def test_a_whole_description_is_taken():
    refuse_bad_discovery(DISCOVERY, ISSUER)
    refuse_bad_discovery({**DISCOVERY, "userinfo_endpoint": f"{ISSUER}/me"}, ISSUER)


def test_of_a_description_the_known_part_is_kept():
    told = {**DISCOVERY, "scopes_supported": ["openid", 7], "claims_supported": ["x"] * 10_000, "secret": "s"}

    assert select_discovery(told) == {**DISCOVERY, "supported_scopes": ["openid", "7"]}
