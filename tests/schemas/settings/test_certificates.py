"""[certificates] and [api.tls]: what cannot work is refused with advice, and what a domain brings."""

import pytest

from schemas.settings.certificates import LETS_ENCRYPT
from schemas.settings.reading import load_settings
from schemas.settings.tree import SettingsError
from schemas.settings.types import Duration

_WORKS = {
    "HEADWATER_CERTIFICATES_DOMAINS": "api.example.org,www.example.org",
    "HEADWATER_CERTIFICATES_ACCEPT_TERMS": "true",
}


_BY_SERVER = {"CHALLENGES": "tls-alpn-01,dns-01", "DNS_SERVER": "ns1.example.org:5353"}


def test_a_domain_brings_https_everywhere() -> None:
    settings, warnings = load_settings(b"[api]\nport = 443\n", _WORKS)

    assert settings.api.tls.enabled
    assert (settings.api.tls.http_port, settings.api.tls.hsts) == (80, Duration(365 * 86400))
    assert settings.api.external_url == settings.auth.site_url == "https://api.example.org"
    assert settings.certificates.directory == LETS_ENCRYPT
    assert warnings == []


def test_what_is_set_wins_over_what_a_domain_brings() -> None:
    config = b"""
        [api]
        port = 8443
        external_url = "https://outside.example.org"
        [api.tls]
        http_port = 0
        hsts = "0s"
        [auth]
        site_url = "https://app.example.org"
    """
    settings, _ = load_settings(config, _WORKS)

    assert (settings.api.tls.http_port, settings.api.tls.hsts) == (0, 0)
    assert settings.api.external_url == "https://outside.example.org"
    assert settings.auth.site_url == "https://app.example.org"


def test_another_port_is_in_the_public_address() -> None:
    settings, _ = load_settings(b"[api]\nport = 8443\n", _WORKS)

    assert settings.api.external_url == "https://api.example.org:8443"


def test_nothing_changes_without_a_domain() -> None:
    settings, _ = load_settings(b"[api.tls]\nenabled = true\n", {})

    assert (settings.api.tls.http_port, settings.api.tls.hsts) == (None, None)
    assert settings.api.external_url == ""


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"ACCEPT_TERMS": "false"}, "HEADWATER_CERTIFICATES_ACCEPT_TERMS must be true"),
        ({"DOMAINS": "a.example.org,*.example.org"}, "a wildcard needs dns-01"),
        ({"DOMAINS": "*.example.org,a.example.org", **_BY_SERVER}, "begins with a wildcard"),
        ({"DOMAINS": "a.example.org,a.*.example.org", **_BY_SERVER}, "which is no domain"),
        ({"DOMAINS": "192.0.2.1"}, "which is no domain"),
        ({"DOMAINS": "Api.example.org"}, "lower case"),
        ({"DOMAINS": "localhost"}, "which is no domain"),
        ({"DOMAINS": "a.example.org,a.example.org"}, "has a name twice"),
        ({"DOMAINS": ",".join(f"n{number}.example.org" for number in range(101))}, "more than 100 names"),
        ({"CONTACT": "ops"}, "must be an email address"),
        ({"DIRECTORY": "http://ca.example.org/dir"}, "must be an https URL"),
        ({"EAB_KEY_ID": "kid"}, "belong together"),
        ({"EAB_KEY_ID": "kid", "EAB_HMAC_KEY": "not base64!"}, "must be a key in base64url"),
        ({"CHALLENGES": "dns-02"}, "one or more of tls-alpn-01, http-01, dns-01"),
        ({"CHALLENGES": "dns-01"}, "HEADWATER_CERTIFICATES_DNS_HOOK (a program) or"),
        ({"CHALLENGES": "dns-01", "DNS_HOOK": "/hook", "DNS_SERVER": "ns1"}, "one of them"),
        ({"CHALLENGES": "dns-01", "DNS_SERVER": "udp://ns1"}, "must be host or host:port"),
        ({"DNS_KEY_NAME": "key"}, "belong together"),
        ({"DNS_KEY_NAME": "key", "DNS_KEY_SECRET": "not base64!"}, "must be a key in base64"),
        ({"DNS_KEY_ALGORITHM": "hmac-md5"}, "must be one of hmac-sha256"),
    ],
)
def test_what_cannot_work_is_refused(environment: dict[str, str], words: str) -> None:
    changed = {f"HEADWATER_CERTIFICATES_{name}": text for name, text in environment.items()}

    with pytest.raises(SettingsError) as caught:
        load_settings(b"", {**_WORKS, **changed})

    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (b'[api.tls]\ncert_path = "a"\nkey_path = "b"\n', "leave one of them out"),
        (b'[certificates]\nchallenges = ["http-01"]\n[api.tls]\nhttp_port = 0\n', "connects to port 80"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(config: bytes, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(config, _WORKS)

    assert words in str(caught.value)
