"""What is sent to users: emails, messages, the quotas of all, and what is told when it fails."""

import json
from dataclasses import replace
from uuid import uuid4

import pytest

from schemas.settings.auth import Auth
from schemas.settings.auth_delivery import Smtp, Template
from schemas.settings.types import Quota
from tests.workers.auth.auth_pool import PASSWORD, AuthPool, address, number, told
from tests.workers.auth.office import CONFIRMED, Office, Phones, with_office, with_phones
from workers.auth.accounts.codes import code_messages
from workers.auth.accounts.users import users
from workers.auth.delivery.email.emails import EmailDraft, OutgoingEmail, change_notice
from workers.auth.delivery.smtp import Mailer, SmtpEndpoint
from workers.auth.delivery.templates import EmailKind, TemplateValues
from workers.auth.delivery.transport import DirectTransport, NoTransport, transport_of
from workers.auth.model import rate_limits
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import AuthUser


@pytest.fixture
async def counted(mailed: AuthPool) -> AuthPool:
    """A worker that counts what it sends; nothing was sent before."""
    await mailed.admin.execute("delete from auth.rate_limits where name in ('email_sent', 'sms_sent')")
    return mailed.having(rate_limit__email_sent=Quota("3"), rate_limit__sms_sent=Quota("2"))


async def refusal(auth_pool: AuthPool, to: str, kind: EmailKind = EmailKind.PASSWORD_CHANGED) -> AuthError:
    with pytest.raises(AuthError) as refused:
        await auth_pool.context.outbox.mail(kind, to, TemplateValues(email=to))
    return refused.value


async def test_a_email_is_written_and_sent(mailed: AuthPool, office: Office):
    to = address()
    facts = TemplateValues(email=to, old_email="old@example.org", site_url="https://site.example")

    await mailed.context.outbox.mail(EmailKind.EMAIL_CHANGED, to, facts)

    (message,) = office.to(to)
    assert message.subject == "Your email address was changed"
    assert to in message.text + message.html
    assert message.html
    assert dict(message.headers)["Auto-Submitted"] == "auto-generated"


async def test_the_sender_is_that_of_the_settings(auth_pool: AuthPool, office: Office):
    smtp = Smtp(
        host="127.0.0.1",
        admin_email="hello@corp.example",
        sender_name="Corp",
        headers={"X-Kind": ["$messageType"]},
    )
    named = with_office(auth_pool, office).having(email__smtp=smtp)
    to = address()

    await named.context.outbox.mail(EmailKind.PASSWORD_CHANGED, to, TemplateValues(email=to))

    (message,) = office.to(to)
    assert (message.source[0].name, message.source[0].address) == ("Corp", "hello@corp.example")
    assert dict(message.headers)["X-Kind"] == "password_changed_notification"


async def test_a_template_of_the_project_is_used(mailed: AuthPool, office: Office):
    own = Template(subject="Hi {{ .Data.name }}", content="<p>{{ .Token }} for {{ .Data.name }}</p>")
    custom, email = mailed.having(email__template__confirmation=own), address()

    await custom.ok("POST", "/signup", {"email": email, "password": PASSWORD, "data": {"name": "<b>Ann</b>"}})

    (message,) = office.to(email)
    assert message.subject == "Hi <b>Ann</b>"
    assert "&lt;b&gt;Ann&lt;/b&gt;" in message.html


async def test_the_path_of_links_may_be_the_project_s(mailed: AuthPool, office: Office):
    custom, email = mailed.having(email__template__confirmation=Template(url_path="/v2/verify")), address()

    await custom.ok("POST", "/signup", {"email": email, "password": PASSWORD})

    assert "/auth/v1/v2/verify?token=" in office.link(email)


async def test_without_a_mail_server_the_caller_is_told(auth_pool: AuthPool):
    with_none = AuthPool(
        replace(auth_pool.context, outbox=replace(auth_pool.context.outbox, transport=NoTransport())),
        auth_pool.admin,
        auth_pool.clock,
    )
    demanding = with_none.having(**CONFIRMED)

    response = await demanding.send("POST", "/signup", {"email": address(), "password": PASSWORD})

    assert response.status == 500
    assert json.loads(response.body)["msg"] == "Error sending signup email"
    assert isinstance(transport_of(Smtp()), NoTransport)
    assert isinstance(transport_of(Smtp(host="mail.example.org")), DirectTransport)


async def test_a_server_that_is_away_is_told_in_few_words(
    auth_pool: AuthPool, capsys: pytest.CaptureFixture[str]
):
    post = DirectTransport(Mailer(SmtpEndpoint("127.0.0.1", 1)))
    away = AuthPool(
        replace(auth_pool.context, outbox=replace(auth_pool.context.outbox, transport=post)),
        auth_pool.admin,
        auth_pool.clock,
    )
    to = address()

    error = await refusal(away, to)

    assert (error.status, error.code.value) == (500, "unexpected_failure")
    assert error.message == "Error sending password_changed_notification email"
    assert to not in error.message


@pytest.mark.parametrize("to", ["nobody", "a@b@c", "a\r\nbcc: x@y.example@z.example"])
async def test_what_is_no_address_gets_no_email(mailed: AuthPool, office: Office, to: str):
    error = await refusal(mailed, to)

    assert (error.status, error.code.value) == (400, "email_address_invalid")
    assert len(office.caught) == 0


async def test_all_mails_are_counted_by_the_hour(counted: AuthPool, office: Office):
    answers = [
        await counted.send("POST", "/signup", {"email": address(), "password": PASSWORD}) for _ in range(4)
    ]

    assert [each.status for each in answers] == [200, 200, 200, 429]
    assert json.loads(answers[3].body)["error_code"] == "over_email_send_rate_limit"
    assert 3590 <= int(told(answers[3], "retry-after")) <= 3600
    assert len(office.caught) == 3
    await counted.admin.execute(
        "update auth.rate_limits set window_start = window_start - interval '1 hour' where name = 'email_sent'"
    )
    assert (await counted.send("POST", "/otp", {"email": address()})).status == 200


async def test_nobody_is_made_and_nothing_noted_beyond_the_quota(counted: AuthPool):
    for _ in range(3):
        await counted.ok("POST", "/otp", {"email": address()})
    email = address()

    await counted.refused("POST", "/otp", {"email": email})

    assert not await counted.value("select count(*) from auth.users where email = $1", email)
    assert await counted.value("select count from auth.rate_limits where name = 'email_sent'") == 3


async def test_text_messages_are_counted_for_themselves_and_test_numbers_never(
    counted: AuthPool, phones: Phones
):
    tested = number()
    auth_pool = with_phones(counted.having(sms__test_otp={tested: "123456"}), phones)
    for _ in range(3):
        await auth_pool.ok("POST", "/otp", {"phone": tested})

    answers = [await auth_pool.send("POST", "/otp", {"phone": number()}) for _ in range(3)]

    assert [each.status for each in answers] == [200, 200, 429]
    assert json.loads(answers[2].body)["error_code"] == "over_sms_send_rate_limit"
    await auth_pool.ok("POST", "/otp", {"email": address()})


async def test_nothing_is_counted_while_accounts_are_confirmed_at_once(counted: AuthPool, phones: Phones):
    automatic = with_phones(
        counted.having(email__enable_confirmations=False, sms__enable_confirmations=False), phones
    )

    for _ in range(4):
        await automatic.ok("POST", "/otp", {"email": address()})
        await automatic.ok("POST", "/otp", {"phone": number()})


async def test_a_notice_and_a_second_factor_s_message_count_too(counted: AuthPool, phones: Phones):
    auth_pool = with_phones(counted, phones)
    outbox, to = auth_pool.context.outbox, address()
    for _ in range(3):
        await outbox.mail(EmailKind.PASSWORD_CHANGED, to, TemplateValues(email=to))
    for _ in range(2):
        await outbox.text(number(), "123456", is_mfa=True)

    assert (await refusal(auth_pool, to)).status == 429
    with pytest.raises(AuthError) as refused:
        await outbox.text(number(), "123456", is_mfa=True)
    assert refused.value.code.value == "over_sms_send_rate_limit"


async def test_a_mail_of_two_emails_counts_as_two_or_is_not_sent(counted: AuthPool, office: Office):
    outbox, pair = (
        counted.context.outbox,
        (EmailDraft(address(), TemplateValues()), EmailDraft(address(), TemplateValues())),
    )

    await outbox.send(OutgoingEmail(EmailKind.EMAIL_CHANGE, pair))
    with pytest.raises(AuthError):
        await outbox.send(OutgoingEmail(EmailKind.EMAIL_CHANGE, pair))

    assert len(office.caught) == 2


@pytest.mark.parametrize(
    ("quota", "numbers", "waits"),
    [
        (Quota("2"), [1, 1, 1], [0, 0, 3600]),
        (Quota("2"), [3, 2, 1], [1, 0, 3600]),
        (Quota("2/100s"), [1, 1, 1], [0, 0, 50]),
        (Quota("2/100s"), [2, 3], [0, 50]),
        (Quota("0"), [5, 5], [0, 0]),
    ],
)
async def test_quotas_are_windows_or_buckets(
    auth_pool: AuthPool, quota: Quota, numbers: list[int], waits: list[int]
):
    name, found = f"test:{address()}", []
    for number_of in numbers:
        async with auth_pool.context.transaction() as transaction:
            found.append(await rate_limits.count(transaction, name, quota, number_of))

    assert all(abs(wait - wanted) <= 5 for wait, wanted in zip(found, waits, strict=True)), found
    assert [wait > 0 for wait in found] == [wanted > 0 for wanted in waits]


async def test_the_words_of_a_second_factor_are_its_own(texted: AuthPool, phones: Phones):
    worded = texted.having(sms__template="Login {{ .Code }}", mfa__phone__template="Second {{ .Code }}")
    outbox = worded.context.outbox

    await outbox.text(number(), "111111")
    await outbox.text(number(), "222222", "sms", True)

    assert [each.form["Body"] for each in phones.provider.asked] == ["Login 111111", "Second 222222"]


def test_a_notice_tells_what_changed():
    user = AuthUser(uuid4(), email="a@example.org")

    mail = change_notice(Auth(), EmailKind.IDENTITY_LINKED, user, "a@example.org", provider="github")

    assert mail.action_type == "identity_linked_notification"
    assert mail.email_data("https://s.example") == {
        "token": "", "token_hash": "", "redirect_to": "", "email_action_type": "identity_linked_notification",
        "site_url": "https://s.example", "token_new": "", "token_hash_new": "", "old_email": "", "old_phone": "",
        "provider": "github", "factor_type": "",
    }  # fmt: skip


async def test_codes_and_links_do_not_show(mailed: AuthPool, office: Office):
    signed = await mailed.having(email__enable_confirmations=False).sign_up()
    context = mailed.context
    async with context.transaction() as transaction:
        user = await users.find_by_email(transaction, signed.email, "authenticated")
        assert user is not None
        mail = await code_messages.prepare_mail(
            context, transaction, user, code_messages.RECOVERY, "http://x.example"
        )

    facts = mail.drafts[0].values
    assert facts.token
    assert facts.token not in repr(facts)
    assert facts.token_hash not in repr(mail.drafts)
