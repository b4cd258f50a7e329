import msgspec
import pytest

from schemas.caller import AnonymousCaller, ServiceCaller, UserCaller
from services.middleware.caller_key import CallerKeys


def user(**claims: object) -> UserCaller:
    return UserCaller(msgspec.json.encode(claims))


def key(
    caller: AnonymousCaller | ServiceCaller | UserCaller,
    api_key: str | None = "public",
    address: str = "192.0.2.1",
) -> str:
    return CallerKeys().key_of(caller, api_key, lambda: address)


def test_a_user_is_the_same_with_another_session_key_and_address() -> None:
    first = key(user(sub="u1", iss="i", session_id="a"))

    assert first == key(user(sub="u1", iss="i", session_id="b"), "other", "192.0.2.2")
    assert first != key(user(sub="u2", iss="i"))
    assert first != key(user(sub="u1", iss="another issuer"))


@pytest.mark.parametrize("claims", [{"role": "authenticated"}, {"sub": ""}, {"sub": 7}, {"sub": None}])
def test_a_token_without_a_subject_counts_by_key_and_address(claims: dict[str, object]) -> None:
    assert key(user(**claims)) == key(user(role="other"))
    assert key(user(**claims)) != key(user(**claims), address="192.0.2.2")


def test_other_callers_count_by_kind_key_and_address() -> None:
    keys = {
        key(AnonymousCaller()),
        key(AnonymousCaller(), address="192.0.2.2"),
        key(AnonymousCaller(), "another public key"),
        key(ServiceCaller(), "secret"),
        key(ServiceCaller(), "secret", "192.0.2.2"),
    }

    assert len(keys) == 5
    assert key(AnonymousCaller()) in keys


def test_an_ipv6_client_counts_with_its_network() -> None:
    assert key(AnonymousCaller(), address="2001:db8::1") == key(AnonymousCaller(), address="2001:db8::ffff:2")
    assert key(AnonymousCaller(), address="2001:db8::1") != key(AnonymousCaller(), address="2001:db8:0:1::1")


def test_a_key_shows_neither_the_api_key_nor_the_user() -> None:
    assert len(key(ServiceCaller(), "sb_secret_abc")) == 16
    assert "abc" not in key(ServiceCaller(), "sb_secret_abc")


def test_what_is_cached_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.middleware.caller_key._CACHED", 10)
    keys = CallerKeys()
    for number in range(100):
        keys.key_of(user(sub=str(number)), None, str)
        keys.key_of(AnonymousCaller(), str(number), str)

    assert len(keys._users) <= 10
    assert len(keys._others) <= 10
