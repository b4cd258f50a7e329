"""What may stand in the settings of a hook; everything else stops the start."""

import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth import Hook
from schemas.settings.tree import SettingsError
from tests.workers.auth.auth_pool import AuthPool
from tests.workers.auth.delivery.hooks.service import SECRETS
from workers.auth.delivery.hooks.in_database import DatabaseHook
from workers.auth.delivery.hooks.over_http import HttpHook
from workers.auth.delivery.hooks.points import HookPoint


def at(auth_pool: AuthPool, uri: str, secrets: str | None = SECRETS) -> object:
    hook = Hook(enabled=True, uri=uri, secrets=None if secrets is None else Secret(secrets))
    made = auth_pool.having(hook__send_email=hook)
    return made.context.hooks.services[HookPoint.SEND_EMAIL]


@pytest.mark.parametrize(
    ("uri", "names"),
    [
        ("pg-functions://postgres/public/hook", ("public", "hook")),
        ("pg-functions://postgres/My%20Schema/a%22b", ("My Schema", 'a"b')),
    ],
)
def test_a_function_is_named_by_schema_and_name(auth_pool: AuthPool, uri: str, names: tuple[str, str]):
    found = at(auth_pool, uri, None)

    assert isinstance(found, DatabaseHook)
    assert (found.schema, found.function) == names


@pytest.mark.parametrize(
    "uri",
    [
        "https://example.com/hook?key=1", "https://10.0.0.7/hook", "http://localhost:9999/hook", "http://127.0.0.1/x",
        "http://127.9.9.9/x", "http://[::1]:80/x", "http://host.docker.internal:54321/functions/v1/x",
    ],
)  # fmt: skip
def test_a_service_is_asked_by_https_or_on_this_machine(auth_pool: AuthPool, uri: str):
    found = at(auth_pool, uri)

    assert isinstance(found, HttpHook)
    assert found.url == uri
    assert uri not in repr(found)


@pytest.mark.parametrize(
    "uri",
    [
        "", " ", "hook", "/hook", "ftp://example.com", "file:///etc/passwd", "gopher://127.0.0.1/x", "https://", "http:///x",
        "javascript:alert(1)", "http://example.com/x", "http://169.254.169.254/latest", "http://10.0.0.7/x",
        "http://192.168.0.1", "http://0.0.0.0/x", "http://localhost.example.com", "http://127.0.0.1.example.com/",
        "http://127.0.0.1@example.com/", "http://localhost@169.254.169.254/", "https://user:pass@example.com/x",
        "http://localhost:pass@127.0.0.1/", "http://2130706433/", "http://0x7f000001/", "http://127.1/", "http://[::]/",
        "http://[::ffff:10.0.0.1]/", "http://localhost\\@example.com/", "http://loc\talhost/", "http://localhost/\r\nx: y",
        " http://localhost/", "http://localhost:99999/", "https://example.com:x/", "http://[::1", "unix:///run/x.sock",
        "pg-functions://", "pg-functions://postgres", "pg-functions://postgres/", "pg-functions://postgres/public",
        "pg-functions://postgres/public/", "pg-functions://postgres//hook", "pg-functions://postgres/a/b/c",
        "pg-functions://other/public/hook", "pg-functions://u@postgres/public/hook", "pg-functions://postgres/a/b?x=1",
        "pg-functions://postgres/a/%00", "pg-functions://postgres/a/" + "x" * 64, "pg-functions:///public/hook",
    ],
)  # fmt: skip
def test_every_other_uri_stops_the_start(auth_pool: AuthPool, uri: str):
    with pytest.raises(SettingsError, match=r"auth\.hook\.send_email\.uri"):
        at(auth_pool, uri)


@pytest.mark.parametrize("secrets", [None, "", "v1,whsec_c2hvcnQ=", "plain-secret", SECRETS + "|x"])
def test_a_service_without_good_keys_stops_the_start_and_none_is_shown(
    auth_pool: AuthPool, secrets: str | None
):
    with pytest.raises(SettingsError, match=r"auth\.hook\.send_email\.secrets") as raised:
        at(auth_pool, "https://example.com/hook", secrets)

    assert not secrets or secrets not in str(raised.value)


def test_a_hook_that_is_off_may_be_anything(auth_pool: AuthPool):
    made = auth_pool.having(hook__send_sms=Hook(enabled=False, uri="ftp://x", secrets=Secret("x")))

    assert not made.context.hooks.services
