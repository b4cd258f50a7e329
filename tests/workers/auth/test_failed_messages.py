"""A message that cannot be sent leaves nothing behind: no account, no code, no pending change, and no pause to wait for."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from schemas.settings.types import Quota
from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, address, number
from tests.workers.auth.office import CONFIRMED, Office, Phones, with_office, with_phones
from workers.auth.delivery.smtp import Mailer, SmtpEndpoint
from workers.auth.delivery.transport import DirectTransport

TABLES = (
    "select to_jsonb(u) - 'updated_at' from auth.users u where $1 in (email, phone) or id::text = $1",
    "select to_jsonb(t) from auth.one_time_tokens t join auth.users u on u.id = t.user_id where $1 in (email, phone)",
    "select to_jsonb(f) from auth.flow_state f join auth.users u on u.id = f.user_id where $1 in (email, phone)",
    "select to_jsonb(c) from auth.mfa_challenges c join auth.mfa_factors f on f.id = c.factor_id where f.phone = $1",
    "select to_jsonb(s) from auth.sessions s join auth.users u on u.id = s.user_id where $1 in (email, phone)",
)
CHALLENGE = {"code_challenge": "c" * 43, "code_challenge_method": "plain"}


@dataclass(frozen=True)
class Flow:
    """A request that sends a message: to an address, of a user who is unknown, unconfirmed or signed in before."""

    name: str
    method: str
    path: str
    body: dict[str, Any]
    by: str = "email"
    state: str = "unknown"
    caller: str = ""
    answer: tuple[int, str] = (500, "unexpected_failure")


NO_TEXT = (422, "sms_send_failed")
FLOWS = (
    Flow("sign-up", "POST", "/signup", {"password": PASSWORD}),
    Flow("sign-up by phone", "POST", "/signup", {"password": PASSWORD}, "phone", answer=NO_TEXT),
    Flow("sign-up again", "POST", "/signup", {"password": PASSWORD, **CHALLENGE}, state="unconfirmed"),
    Flow("otp", "POST", "/otp", {}),
    Flow("otp by phone", "POST", "/otp", {}, "phone", answer=NO_TEXT),
    Flow("otp of a known user", "POST", "/otp", CHALLENGE, state="confirmed"),
    Flow("otp of a known phone", "POST", "/otp", {}, "phone", "confirmed", answer=NO_TEXT),
    Flow("magic link", "POST", "/magiclink", {}),
    Flow("recovery", "POST", "/recover", CHALLENGE, state="confirmed"),
    Flow("resend", "POST", "/resend", {"type": "signup"}, state="unconfirmed"),
    Flow("resend by phone", "POST", "/resend", {"type": "sms"}, "phone", "unconfirmed", answer=NO_TEXT),
    Flow("invitation", "POST", "/invite", {"data": {"a": 1}}, caller="admin"),
    Flow("invitation again", "POST", "/invite", {"data": {"a": 1}}, state="unconfirmed", caller="admin"),
    Flow("change of email", "PUT", "/user", {"email": "{new}", "password": "another one", "data": {"n": 1}}, state="confirmed", caller="user"),
    Flow("change of phone", "PUT", "/user", {"phone": "{new}", "data": {"n": 1}}, "phone", "confirmed", "user", NO_TEXT),
    Flow("reauthentication", "GET", "/reauthenticate", {}, state="confirmed", caller="user"),
    Flow("reauthentication by phone", "GET", "/reauthenticate", {}, "phone", "confirmed", "user", NO_TEXT),
)  # fmt: skip


@pytest.fixture
def slow(auth_pool: AuthPool, office: Office, phones: Phones) -> AuthPool:
    """A worker with a pause of a minute between two messages, and quotas that are not reached."""
    quotas = {"rate_limit__email_sent": Quota("0"), "rate_limit__sms_sent": Quota("0")}
    pauses = {"email__max_frequency": 60.0, "sms__max_frequency": 60.0}
    return with_phones(with_office(auth_pool, office), phones).having(**CONFIRMED, **quotas, **pauses)


def without_mail(auth_pool: AuthPool) -> AuthPool:
    """Return the same worker when the mail server is away."""
    away = DirectTransport(Mailer(SmtpEndpoint("127.0.0.1", 1)))
    return with_office(auth_pool, Office(caught=None, transport=away))  # type: ignore[arg-type]  # nothing is caught


async def stored(auth_pool: AuthPool, address: str) -> list[object]:
    """Read all that is stored about the user of an address."""
    return [[row[0] for row in await auth_pool.admin.fetch(sql, address)] for sql in TABLES]


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)
async def test_a_message_that_is_not_sent_leaves_nothing_behind(slow: AuthPool, phones: Phones, flow: Flow):
    to = address() if flow.by == "email" else number()
    caller = {"admin": ADMIN}.get(flow.caller)
    if flow.state != "unknown":
        confirmed = {"email__enable_confirmations": False, "sms__enable_confirmations": False}
        before = slow.having(**(confirmed if flow.state == "confirmed" else {}))
        made = await before.ok("POST", "/signup", {flow.by: to, "password": PASSWORD})
        if flow.caller == "user":
            caller = before.signed(made).caller
    slow.clock.forward(minutes=2)
    new = address() if flow.by == "email" else number()
    body = {flow.by: to, **flow.body}
    body |= {flow.by: new} if "{new}" in flow.body.values() else {}
    state = await stored(slow, to)
    good = (phones.provider.status, phones.provider.body)
    phones.provider.answers(500, {"message": "out of order"})

    more = {} if caller is None else {"caller": caller}
    failed = await without_mail(slow).send(flow.method, flow.path, body, **more)  # type: ignore[arg-type]  # a caller

    assert (failed.status, json.loads(failed.body)["error_code"]) == flow.answer
    assert await stored(slow, to) == state
    phones.provider.answers(*good)
    again = await slow.send(flow.method, flow.path, body, **more)  # type: ignore[arg-type]  # a caller
    assert again.status == 200, again
    assert await stored(slow, to) != state


async def test_a_challenge_whose_code_is_not_sent_is_not_stored(slow: AuthPool, phones: Phones):
    factors = slow.having(mfa__phone__enroll_enabled=True, mfa__phone__verify_enabled=True)
    signed = await factors.having(email__enable_confirmations=False).sign_up()
    phone = number()
    enrolled = await factors.ok("POST", "/factors", {"factor_type": "phone", "phone": phone}, signed.caller)
    path = f"/factors/{enrolled['id']}/challenge"
    phones.provider.answers(500, {"message": "out of order"})

    failed = await factors.refused("POST", path, {}, signed.caller)
    left = await stored(factors, phone)
    phones.provider.answers(201, {"sid": "SM1", "status": "queued"})
    challenged = await factors.ok("POST", path, {}, signed.caller)

    assert failed[:2] == NO_TEXT
    assert left[3] == []
    assert uuid.UUID(challenged["id"])


async def test_a_function_that_sends_sees_the_user_and_may_refer_to_it(slow: AuthPool):
    await slow.admin.execute("""
        create table if not exists public.sent_texts (user_id uuid references auth.users on delete cascade, code text);
        grant insert on public.sent_texts to supabase_auth_admin;
        create or replace function public.send_text(event jsonb) returns jsonb language plpgsql as $$
        begin
          insert into public.sent_texts values ((event #>> '{user,id}')::uuid, event #>> '{sms,otp}');
          if event #>> '{user,phone}' like '%9' then
            return '{"error": {"http_code": 503, "message": "no line"}}';
          end if;
          return '{}';
        end $$;
        grant execute on function public.send_text(jsonb) to supabase_auth_admin;
    """)
    hook = {"enabled": True, "uri": "pg-functions://postgres/public/send_text"}
    hooked = slow.having(hook__send_sms=type(slow.context.settings.hook.send_sms)(**hook))  # type: ignore[arg-type]  # as the struct has them
    good, bad = number()[:-1] + "1", number()[:-1] + "9"

    assert (await hooked.send("POST", "/otp", {"phone": good})).status == 200
    assert (await hooked.refused("POST", "/otp", {"phone": bad}))[0] == 503

    sent = "select count(*) from public.sent_texts s join auth.users u on u.id = s.user_id where u.phone = $1"
    assert [await hooked.value(sent, phone) for phone in (good, bad)] == [1, 0]
    assert (await stored(hooked, bad))[0] == []


async def test_a_resend_to_an_unknown_phone_is_no_error_the_second_time(slow: AuthPool, phones: Phones):
    pending, unknown = number(), number()
    await slow.ok("POST", "/signup", {"phone": pending, "password": PASSWORD})
    slow.clock.forward(minutes=2)
    before = len(phones.provider.asked)

    answers = {
        phone: [
            (await slow.send("POST", "/resend", {"type": "sms", "phone": phone})).status for _ in range(3)
        ]
        for phone in (pending, unknown)
    }

    assert answers == {pending: [200] * 3, unknown: [200] * 3}
    assert len(phones.provider.asked) == before + 1
    signed_up = await slow.refused("POST", "/signup", {"phone": unknown, "password": PASSWORD})
    assert signed_up[:2] == (429, "over_sms_send_rate_limit")
