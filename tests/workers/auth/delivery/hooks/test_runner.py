"""Hooks as requests meet them: accounts made, tokens signed, passwords checked."""

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
import structlog

from broker.observability import observe
from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, address, claims_of
from tests.workers.auth.delivery.hooks.conftest import Hooked
from tests.workers.auth.delivery.hooks.service import KEY, HookService
from workers.auth.delivery.hooks.over_http import RetryLimits
from workers.auth.delivery.hooks.points import EmailData, HookPoint, SmsData
from workers.auth.model.claims import SignInMethod
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import AuthUser

GRANT = "/token?grant_type=password"
REJECT = {"decision": "reject", "message": "not today"}


async def users_of(auth_pool: AuthPool, email: str) -> int:
    return int(await auth_pool.value("select count(*) from auth.users where email = $1", email))


# --- Accounts ----------------------------------------------------------------------------------------------------


async def test_a_new_account_is_shown_before_and_after(hooked: Hooked, service: HookService):
    auth_pool = hooked.over_http(HookPoint.BEFORE_USER_CREATED, HookPoint.AFTER_USER_CREATED)
    email = address()

    made = await auth_pool.ok("POST", "/admin/users", {"email": email, "user_metadata": {"a": 1}}, ADMIN)

    before, after = service.heard
    assert before["metadata"]["name"] == "before-user-created"
    assert after["metadata"]["name"] == "after-user-created"
    assert UUID(before["metadata"]["uuid"])
    assert before["metadata"]["time"].endswith("Z")
    assert before["metadata"]["ip_address"] == "192.0.2.7"
    assert service.ids == [each["metadata"]["uuid"] for each in service.heard]
    for name in ("id", "email", "aud", "role", "app_metadata", "user_metadata", "phone", "is_anonymous"):
        assert before["user"][name] == made[name] == after["user"][name]
    assert (before["user"]["identities"], len(after["user"]["identities"])) == ([], 1)


async def test_an_account_that_is_refused_is_not_made(hooked: Hooked, service: HookService):
    auth_pool = hooked.over_http(HookPoint.BEFORE_USER_CREATED, HookPoint.AFTER_USER_CREATED)
    service.says({"error": {"http_code": 403, "message": "no such addresses"}})
    email = address()

    answer = await auth_pool.refused("POST", "/admin/users", {"email": email}, ADMIN)

    assert answer == (403, "unknown", "no such addresses")
    assert (await users_of(auth_pool, email), len(service.heard)) == (0, 1)


async def test_a_sign_up_that_is_refused_makes_nobody(hooked: Hooked, service: HookService):
    auth_pool = hooked.over_http(HookPoint.BEFORE_USER_CREATED)
    service.says({"error": {"http_code": 400, "message": "only example.com"}})
    email, before = address(), await auth_pool.value("select count(*) from auth.users")

    for body in ({"email": email, "password": PASSWORD}, {"data": {"a": 1}}):
        assert await auth_pool.refused("POST", "/signup", body) == (400, "unknown", "only example.com")

    assert await auth_pool.value("select count(*) from auth.users") == before
    assert [each["user"]["is_anonymous"] for each in service.heard] == [False, True]
    assert [each["user"]["email"] for each in service.heard] == [email, ""]


async def test_words_that_come_too_late_are_told_but_the_account_stays(hooked: Hooked, service: HookService):
    auth_pool = hooked.over_http(HookPoint.AFTER_USER_CREATED)
    service.says({"error": {"http_code": 402, "message": "pay first"}})
    email = address()

    answer = await auth_pool.refused("POST", "/signup", {"email": email, "password": PASSWORD})

    assert answer == (402, "unknown", "pay first")
    assert await users_of(auth_pool, email) == 1


async def test_the_hook_is_asked_outside_of_any_transaction(auth_pool: AuthPool, hooked: Hooked):
    await auth_pool.admin.execute("""create or replace function public.lonely(event jsonb) returns jsonb language plpgsql as $$
        begin
          if exists (select from pg_stat_activity where state = 'idle in transaction' and usename = current_user) then
            raise exception 'somebody waits';
          end if;
          return '{}';
        end $$""")

    for point in (
        HookPoint.BEFORE_USER_CREATED,
        HookPoint.AFTER_USER_CREATED,
        HookPoint.PASSWORD_VERIFICATION,
    ):
        mine = hooked.in_database(point, "lonely")
        await mine.sign_in((await mine.sign_up()).email)


async def test_a_sign_up_whose_token_fails_leaves_no_session(hooked: Hooked, service: HookService):
    auth_pool = hooked.over_http(HookPoint.CUSTOM_ACCESS_TOKEN)
    email = address()

    status, _, _ = await auth_pool.refused("POST", "/signup", {"email": email, "password": PASSWORD})

    id = await auth_pool.value("select id::text from auth.users where email = $1", email)
    assert (status, await auth_pool.sessions_of(id)) == (500, set())


async def test_nothing_is_asked_without_a_hook(auth_pool: AuthPool, service: HookService):
    await auth_pool.sign_up()

    assert not service.heard


# --- Access tokens -----------------------------------------------------------------------------------------------


def saying(service: HookService, change: Any) -> None:
    """Let the service answer with the claims it was given, changed."""
    plain = service.answer

    async def answer(request: Any) -> Any:
        text = json.loads(await request.text())
        service.says({"claims": change(text["claims"])})
        return await plain(request)

    service.answer = answer  # type: ignore[method-assign]  # the server calls through the instance


async def test_claims_are_replaced(auth_pool: AuthPool, hooked: Hooked, service: HookService):
    signed = await auth_pool.sign_up()
    mine = hooked.over_http(HookPoint.CUSTOM_ACCESS_TOKEN)
    claims = claims_of(signed.caller)
    wanted = {name: claims[name] for name in claims if name not in ("user_metadata", "amr")}
    service.says(
        {"claims": {**wanted, "role": "editor", "plan": ["a", {"b": 1}], "exp": claims["exp"] + 100}}
    )

    again = await mine.sign_in(signed.email)

    told = claims_of(again.caller)
    assert (told["role"], told["plan"]) == ("editor", ["a", {"b": 1}])
    assert "user_metadata" not in told
    assert again.body["expires_at"] == told["exp"] == claims["exp"] + 100


async def test_the_hook_is_told_how_the_user_signed_in(
    hooked: Hooked, service: HookService, auth_pool: AuthPool
):
    mine = hooked.over_http(HookPoint.CUSTOM_ACCESS_TOKEN)
    signed = await auth_pool.sign_up()
    service.says({"claims": claims_of(signed.caller)})

    await mine.sign_in(signed.email)
    await mine.ok("POST", "/token?grant_type=refresh_token", {"refresh_token": signed.refresh_token})

    first, second = service.heard
    assert first["user_id"] == first["claims"]["sub"] == signed.id
    assert first["metadata"]["name"] == "customize-access-token"
    assert first["metadata"]["ip_address"] == "192.0.2.7"
    assert [each["authentication_method"] for each in (first, second)] == ["password", "token_refresh"]
    assert first["claims"]["aal"] == "aal1"


@pytest.mark.parametrize(
    ("name", "change"),
    [("aud", {"aud": None}), ("exp", {"exp": "1"}), ("exp", {"exp": 10**400})],
)
async def test_claims_that_are_missing_or_of_another_type_are_rejected_and_no_session_stays(
    auth_pool: AuthPool, hooked: Hooked, service: HookService, name: str, change: dict[str, object]
):
    """All claims and types are in `model/test_claims.py`."""
    mine = hooked.over_http(HookPoint.CUSTOM_ACCESS_TOKEN)
    signed = await auth_pool.sign_up()
    claims = {**claims_of(signed.caller), **change}
    service.says({"claims": {key: value for key, value in claims.items() if value is not None}})

    status, code, message = await mine.refused("POST", GRANT, {"email": signed.email, "password": PASSWORD})

    assert (status, code) == (500, "unexpected_failure")
    assert name in message
    assert await auth_pool.sessions_of(signed.id) == {signed.session_id}


@pytest.mark.parametrize("said", [{}, {"claims": {}}, "x", {"error": {"http_code": 402, "message": "pay"}}])
async def test_another_answer_is_refused_and_the_old_session_stays(
    auth_pool: AuthPool, hooked: Hooked, service: HookService, said: object
):
    mine = hooked.over_http(HookPoint.CUSTOM_ACCESS_TOKEN)
    signed = await auth_pool.sign_up()
    service.says(said)

    refused = [await mine.refused("POST", GRANT, {"email": signed.email, "password": PASSWORD})]
    refused.append(await mine.refresh_refused(signed.refresh_token))

    expected = (402, "unknown") if isinstance(said, dict) and "error" in said else (500, "unexpected_failure")
    assert [each[:2] for each in refused] == [expected, expected]
    assert await auth_pool.sessions_of(signed.id) == {signed.session_id}
    assert (await auth_pool.refresh(signed.refresh_token)).session_id == signed.session_id


async def test_a_request_that_is_given_up_leaves_no_session(
    auth_pool: AuthPool, hooked: Hooked, service: HookService
):
    mine = hooked.over_http(HookPoint.CUSTOM_ACCESS_TOKEN)
    signed = await auth_pool.sign_up()
    service.hang = asyncio.Event()
    asking = asyncio.create_task(mine.send("POST", GRANT, {"email": signed.email, "password": PASSWORD}))
    while not service.heard:
        await asyncio.sleep(0)

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert await auth_pool.sessions_of(signed.id) == {signed.session_id}


async def test_a_function_of_the_database_gives_claims(auth_pool: AuthPool, hooked: Hooked):
    await auth_pool.admin.execute("""create or replace function public.claims(event jsonb) returns jsonb language sql stable
        as $$ select jsonb_build_object('claims', event -> 'claims' || '{"tier": "gold"}') $$""")
    mine = hooked.in_database(HookPoint.CUSTOM_ACCESS_TOKEN, "claims")
    signed = await auth_pool.sign_up()

    again = await mine.sign_in(signed.email)
    refreshed = await mine.refresh(again.refresh_token)

    assert claims_of(again.caller)["tier"] == claims_of(refreshed.caller)["tier"] == "gold"


# --- Passwords ---------------------------------------------------------------------------------------------------


async def test_each_check_of_a_password_is_told(auth_pool: AuthPool, hooked: Hooked, service: HookService):
    mine = hooked.over_http(HookPoint.PASSWORD_VERIFICATION)
    signed = await auth_pool.sign_up()

    await mine.sign_in(signed.email)
    await mine.refused("POST", GRANT, {"email": signed.email, "password": "wrong one"})
    await mine.refused("POST", GRANT, {"email": address(), "password": "wrong one"})

    assert [(each["user_id"], each["valid"]) for each in service.heard] == [
        (signed.id, True),
        (signed.id, False),
    ]
    assert service.heard[0]["metadata"]["name"] == "password-verification"
    assert "wrong one" not in json.dumps(service.heard)


@pytest.mark.parametrize("password", [PASSWORD, "wrong one"])
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"message": "not today", "should_logout_user": True}, "not today"),
        ({"message": "not today", "should_logout_user": False}, "not today"),
        ({}, "Further password verification attempts will be rejected."),
    ],
)
async def test_a_rejected_attempt_is_refused_in_the_words_of_the_hook_or_ours(
    auth_pool: AuthPool,
    hooked: Hooked,
    service: HookService,
    password: str,
    more: dict[str, object],
    message: str,
):
    mine = hooked.over_http(HookPoint.PASSWORD_VERIFICATION)
    signed = await auth_pool.sign_up()
    service.says({"decision": "reject", **more})

    answer = await mine.refused("POST", GRANT, {"email": signed.email, "password": password})

    assert answer == (400, "invalid_credentials", message)
    ended = more.get("should_logout_user")
    assert await auth_pool.sessions_of(signed.id) == (set() if ended else {signed.session_id})


async def test_consent_to_a_wrong_password_does_not_make_it_right(
    auth_pool: AuthPool, hooked: Hooked, service: HookService
):
    mine = hooked.over_http(HookPoint.PASSWORD_VERIFICATION)
    signed = await auth_pool.sign_up()
    service.says({"decision": "continue", "valid": True})

    answer = await mine.refused("POST", GRANT, {"email": signed.email, "password": "wrong one"})

    assert answer == (400, "invalid_credentials", "Invalid login credentials")


async def test_a_decision_that_is_none_lets_nobody_in(
    auth_pool: AuthPool, hooked: Hooked, service: HookService
):
    """All that is no decision is in `test_points.py`."""
    mine = hooked.over_http(HookPoint.PASSWORD_VERIFICATION)
    signed = await auth_pool.sign_up()
    service.says({"decision": "perhaps"})

    status, code, _ = await mine.refused("POST", GRANT, {"email": signed.email, "password": PASSWORD})

    assert (status, code) == (500, "unexpected_failure")
    assert await auth_pool.sessions_of(signed.id) == {signed.session_id}


async def test_a_slow_service_lets_nobody_in(auth_pool: AuthPool, hooked: Hooked, service: HookService):
    mine = hooked.over_http(HookPoint.PASSWORD_VERIFICATION, limits=RetryLimits(total_s=0.05))
    signed = await auth_pool.sign_up()
    service.hang = asyncio.Event()

    status, code, _ = await mine.refused("POST", GRANT, {"email": signed.email, "password": PASSWORD})

    assert (status, code) == (422, "hook_timeout")


# --- The other points --------------------------------------------------------------------------------------------


async def test_messages_and_factors_are_told_as_the_reference_lists_them(
    hooked: Hooked, service: HookService
):
    auth_pool = hooked.over_http(HookPoint.SEND_EMAIL, HookPoint.SEND_SMS, HookPoint.MFA_VERIFICATION)
    hooks, user = auth_pool.context.hooks, AuthUser(id=uuid4(), email="a@b.org")
    mail = EmailData("1", "h1", "https://x", "email_change", "https://s", "2", "h2", "old@b.org")

    await hooks.send_email(user, mail, "192.0.2.9")
    await hooks.send_sms(user, SmsData("123456", "4915112345678", "mfa"), "")
    service.says(REJECT)
    decision = await hooks.mfa_verification_attempt(
        user.id, user.id, "totp", is_valid=True, address="192.0.2.9"
    )

    email, sms, factor = service.heard
    assert email["metadata"]["name"], email["user"]["id"] == ("send-email", str(user.id))
    assert email["email_data"] == {
        "token": "1", "token_hash": "h1", "redirect_to": "https://x", "email_action_type": "email_change",
        "site_url": "https://s", "token_new": "2", "token_hash_new": "h2", "old_email": "old@b.org", "old_phone": "",
        "provider": "", "factor_type": "",
    }  # fmt: skip
    assert sms["sms"] == {"otp": "123456", "phone": "4915112345678", "sms_type": "mfa"}
    del factor["metadata"]
    assert factor == {
        "user_id": str(user.id),
        "factor_id": str(user.id),
        "factor_type": "totp",
        "valid": True,
    }
    assert decision.is_rejected


async def test_without_hooks_everything_goes_on(auth_pool: AuthPool):
    hooks, id = auth_pool.context.hooks, uuid4()
    claims: dict[str, object] = {"sub": "x"}

    assert await hooks.custom_access_token(id, claims, SignInMethod.PASSWORD, "") is claims
    assert not (await hooks.mfa_verification_attempt(id, id, "totp", is_valid=False, address="")).is_rejected
    assert not any(hooks.has(point) for point in HookPoint)


@pytest.fixture
def logging_restored() -> Iterator[None]:
    """Put the logs back to where they went, once a test has had them for itself."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    observe.configure()
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("logging_restored")
async def test_a_failure_is_logged_without_what_is_secret(
    hooked: Hooked, service: HookService, capsys: pytest.CaptureFixture[str]
):
    auth_pool = hooked.over_http(HookPoint.SEND_EMAIL)
    service.usual = lambda: (_ for _ in ()).throw(RuntimeError)  # a broken service
    observe.configure("debug", "json")
    with pytest.raises(AuthError) as raised:
        await auth_pool.context.hooks.send_email(
            AuthUser(id=uuid4(), email="somebody@example.org"),
            EmailData("123456", "hash-of-it", email_action_type="signup"),
            "192.0.2.9",
        )

    told = capsys.readouterr().err + str(raised.value) + repr(auth_pool.context.hooks)
    assert '"hook":"send_email"' in told
    for secret in ("123456", "hash-of-it", "somebody@", KEY.removeprefix("whsec_"), service.url):
        assert secret not in told
