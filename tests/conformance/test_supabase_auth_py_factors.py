"""The official Python client, in both of its forms: second factors, of people and in the hands of a server."""

import time
from dataclasses import dataclass
from typing import Any

import pyotp
import pytest

from tests.conformance.auth_callers import OTHER, People, Person, admin_of, claims_of, done, refusal, refused
from tests.conformance.auth_post import code_to, phone_number

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

INVALID = refused(422, "mfa_verification_failed", "Invalid TOTP code entered")


@dataclass(frozen=True, slots=True)
class App:
    """An authenticator app that was proven with the code of its time; the next code is the test's."""

    person: Person
    factor_id: str
    secret: str

    @property
    def next_code(self) -> str:
        """The code that the app shows next; it is taken already."""
        return code_of(self.secret, 1)


def code_of(secret: str, later: int = 0) -> str:
    return pyotp.TOTP(secret).at(int(time.time()) + 30 * later)


def wrong_code(secret: str) -> str:
    near = {code_of(secret, later) for later in range(-2, 3)}
    return next(
        code for code in ("000000", "111111", "222222", "333333", "444444", "555555") if code not in near
    )


async def level_of(auth: Any) -> tuple[str, str]:
    told = await done(auth.mfa.get_authenticator_assurance_level())
    return told.current_level, told.next_level


async def with_app(people: People) -> App:
    one = await people.member()
    made = await done(one.auth.mfa.enroll({"factor_type": "totp", "friendly_name": "app"}))
    await done(one.auth.mfa.challenge_and_verify({"factor_id": made.id, "code": code_of(made.totp.secret)}))
    return App(one, made.id, made.totp.secret)


async def test_an_app_is_enrolled_and_proves_the_session(new_users: People) -> None:
    one, events = await new_users.member(), []
    one.auth.on_auth_state_change(lambda event, session: events.append(event))
    mfa = one.auth.mfa

    made = await done(mfa.enroll({"factor_type": "totp", "friendly_name": "app", "issuer": "Acme"}))
    before = await level_of(one.auth)
    challenge = await done(mfa.challenge({"factor_id": made.id}))
    answer = {"factor_id": made.id, "challenge_id": challenge.id}
    wrong = await refusal(mfa.verify, {**answer, "code": wrong_code(made.totp.secret)})
    proven = await done(mfa.verify({**answer, "code": code_of(made.totp.secret)}))

    assert made.totp.qr_code.startswith("data:image/svg+xml;utf-8,<")
    assert made.totp.uri.startswith("otpauth://totp/")
    assert (before, wrong) == (("aal1", "aal1"), INVALID)
    assert claims_of(proven.access_token)["aal"] == "aal2"
    assert await level_of(one.auth) == ("aal2", "aal2")
    assert [each.id for each in (await done(mfa.list_factors())).totp] == [made.id]
    assert events == ["MFA_CHALLENGE_VERIFIED"]


async def test_who_signs_in_must_prove_the_factor_before_the_account_is_changed(new_users: People) -> None:
    app = await with_app(new_users)
    later = await new_users.signed_in(app.person.email)
    before = await level_of(later.auth)
    error = await refusal(later.auth.update_user, {"password": OTHER})

    await done(later.auth.mfa.challenge_and_verify({"factor_id": app.factor_id, "code": app.next_code}))
    await done(later.auth.update_user({"password": OTHER}))

    assert (before, error["code"]) == (("aal1", "aal2"), "insufficient_aal")
    assert (await new_users.signed_in(app.person.email, OTHER)).user.id == app.person.user.id


async def test_a_factor_is_given_up(new_users: People) -> None:
    app = await with_app(new_users)
    auth = app.person.auth

    gone = await done(auth.mfa.unenroll({"factor_id": app.factor_id}))
    await done(auth.refresh_session())

    assert gone.id == app.factor_id
    assert (await done(auth.mfa.list_factors())).all == []
    assert await level_of(auth) == ("aal1", "aal1")


async def test_a_telephone_is_a_factor(new_users: People) -> None:
    one, phone = await new_users.member(), phone_number()
    made = await done(one.auth.mfa.enroll({"factor_type": "phone", "phone": phone, "friendly_name": "mine"}))
    challenge = await done(one.auth.mfa.challenge({"factor_id": made.id, "channel": "sms"}))
    code = await code_to(new_users.platform, phone)

    await done(one.auth.mfa.verify({"factor_id": made.id, "challenge_id": challenge.id, "code": code}))

    assert await level_of(one.auth) == ("aal2", "aal2")
    assert [each.id for each in (await done(one.auth.mfa.list_factors())).phone] == [made.id]


async def test_a_server_takes_a_factor_away(new_users: People) -> None:
    app, admin = await with_app(new_users), await admin_of(new_users)
    user = app.person.user.id

    seen = await done(admin.mfa.list_factors({"user_id": user}))
    gone = await done(admin.mfa.delete_factor({"user_id": user, "id": app.factor_id}))
    left = await done(admin.mfa.list_factors({"user_id": user}))

    assert ([each.id for each in seen], gone.id, left) == ([app.factor_id], app.factor_id, [])
    renewed = (await done(app.person.auth.refresh_session())).session
    assert claims_of(renewed.access_token)["aal"] == "aal1"
