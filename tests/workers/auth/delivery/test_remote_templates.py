"""Templates on a web server of the project: fetched, kept, and replaced by the built-in ones when they cannot be had."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from broker.observability.observations import Observation
from schemas.settings.auth_delivery import Email, EmailTemplateSettings, Notification, Notifications, Template
from tests.workers.auth.auth_pool import PASSWORD, AuthPool, Clock, address
from tests.workers.auth.office import Office
from workers.auth.delivery import remote_templates
from workers.auth.delivery.remote_templates import RemoteTemplates, urls_of
from workers.auth.delivery.templates import EmailKind, TemplateValues, read_templates
from workers.http_client.client import HttpClient

OWN = "<p>Ours: {{ .Token }}</p>"
FACTS = TemplateValues(token="123456")
BUILT_IN = read_templates({}, [])


@dataclass
class Site:
    """A web server that gives what it is told to, and counts who asks."""

    url: str = ""
    body: bytes = OWN.encode()
    status: int = 200
    asked: list[str] = field(default_factory=list)
    is_open: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request.path)
        await self.is_open.wait()
        headers = {"location": f"{self.url}/elsewhere"} if self.status == 302 else None
        return web.Response(status=self.status, body=self.body, headers=headers)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    site.is_open.set()
    runner = web.ServerRunner(web.Server(site.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield site
    site.is_open.set()
    await runner.cleanup()


@pytest.fixture
async def outgoing() -> AsyncIterator[HttpClient]:
    one = HttpClient()
    yield one
    await one.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def remote(site: Site, outgoing: HttpClient, clock: Clock) -> RemoteTemplates:
    return RemoteTemplates({EmailKind.RECOVERY: f"{site.url}/recovery.html"}, outgoing, clock)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Observation]:
    """What was observed."""
    seen: list[Observation] = []
    monkeypatch.setattr(remote_templates, "observe", seen.append)
    return seen


async def html(remote: RemoteTemplates, kind: EmailKind = EmailKind.RECOVERY) -> str:
    """Write an email."""
    return BUILT_IN.write(kind, FACTS, await remote.get(kind)).html


def built_in(kind: EmailKind = EmailKind.RECOVERY) -> str:
    return BUILT_IN.write(kind, FACTS).html


async def test_a_template_is_fetched_and_its_text_made_of_it(remote: RemoteTemplates, site: Site):
    message = BUILT_IN.write(EmailKind.RECOVERY, FACTS, await remote.get(EmailKind.RECOVERY))

    assert (message.html, message.text.strip()) == ("<p>Ours: 123456</p>", "Ours: 123456")
    assert message.subject == "Reset your password"
    assert site.asked == ["/recovery.html"]


async def test_a_kind_without_one_asks_nobody(remote: RemoteTemplates, site: Site):
    assert await html(remote, EmailKind.INVITE) == built_in(EmailKind.INVITE)
    assert site.asked == []


async def test_a_template_is_kept_for_ten_minutes(remote: RemoteTemplates, site: Site, clock: Clock):
    await html(remote)
    site.body = b"<p>New</p>"
    clock.forward(minutes=9)
    assert await html(remote) == "<p>Ours: 123456</p>"
    clock.forward(minutes=2)

    assert await html(remote) == "<p>New</p>"
    assert len(site.asked) == 2


async def test_emails_that_are_written_at_once_share_one_request(remote: RemoteTemplates, site: Site):
    written = await asyncio.gather(*(html(remote) for _ in range(20)))

    assert set(written) == {"<p>Ours: 123456</p>"}
    assert len(site.asked) == 1


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (404, b"no", "the server answered 404"),
        (500, b"no", "the server answered 500"),
        (204, b"", "the server answered 204"),
        (302, b"moved", "the server answered 302"),
        (200, b"<p>{{ .Token </p>", "line 1: "),
        (200, b"<p>{{ define }}</p>", "line 1: "),
        (200, b"<p>\xff\xfe</p>", "it is not UTF-8 text"),
        (200, b"x" * (1024 * 1024 + 1), "the answer is longer than 1048576 bytes"),
    ],
)
async def test_what_cannot_be_used_gives_way_to_the_built_in_one(
    remote: RemoteTemplates, site: Site, told: list[Observation], status: int, body: bytes, reason: str
):
    site.status, site.body = status, body

    assert await html(remote) == built_in()

    (observed,) = told
    assert isinstance(observed, remote_templates.TemplateNotFetched)
    assert observed.what == "recovery"
    assert observed.reason.startswith(reason)
    assert site.asked == ["/recovery.html"]


async def test_a_server_that_is_down_is_asked_again_after_a_while(
    remote: RemoteTemplates, site: Site, clock: Clock, told: list[Observation]
):
    site.status = 503
    for _ in range(5):
        assert await html(remote) == built_in()
    assert (len(site.asked), len(told)) == (1, 1)
    site.status = 200
    clock.forward(minutes=1)

    assert await html(remote) == "<p>Ours: 123456</p>"


async def test_where_nobody_listens_the_built_in_one_is_used(
    outgoing: HttpClient, clock: Clock, told: list[Observation]
):
    remote = RemoteTemplates({EmailKind.RECOVERY: "http://127.0.0.1:1/a.html"}, outgoing, clock)

    assert await html(remote) == built_in()
    assert len(told) == 1


async def test_no_email_waits_long_and_what_comes_late_is_there_for_the_next(
    site: Site, outgoing: HttpClient, clock: Clock, told: list[Observation]
):
    remote = RemoteTemplates({EmailKind.RECOVERY: f"{site.url}/slow"}, outgoing, clock, wait_s=0.05)
    site.is_open.clear()
    assert await html(remote) == built_in()
    assert [each.reason for each in told] == ["it did not come within 0.05 s"]  # type: ignore[attr-defined]  # of its kind
    site.is_open.set()

    async with asyncio.timeout(60):
        while await html(remote) == built_in():
            pass

    assert await html(remote) == "<p>Ours: 123456</p>"
    assert len(site.asked) == 1


async def test_a_server_that_never_answers_is_given_up(
    site: Site, outgoing: HttpClient, clock: Clock, told: list[Observation], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(remote_templates, "TIMEOUT_S", 0.05)
    remote = RemoteTemplates({EmailKind.RECOVERY: f"{site.url}/never"}, outgoing, clock)
    site.is_open.clear()

    assert await html(remote) == built_in()
    assert [each.reason for each in told] == ["no answer within 0.05 s"]  # type: ignore[attr-defined]  # of its kind


async def test_who_gives_his_email_up_takes_the_template_from_nobody(remote: RemoteTemplates, site: Site):
    site.is_open.clear()
    first = asyncio.create_task(html(remote))
    second = asyncio.create_task(html(remote))
    while not site.asked:
        await asyncio.sleep(0)
    first.cancel()
    site.is_open.set()

    assert await second == "<p>Ours: 123456</p>"
    assert len(site.asked) == 1


async def test_at_the_end_nothing_is_fetched_any_more(remote: RemoteTemplates, site: Site):
    site.is_open.clear()
    writing = asyncio.create_task(html(remote))
    while not site.asked:
        await asyncio.sleep(0)

    await remote.close()

    assert await writing == built_in()


def test_addresses_are_those_of_the_settings_and_paths_lie_on_the_site():
    email = Email(
        template=EmailTemplateSettings(
            invite=Template(url="https://cdn.example/invite.html"),
            recovery=Template(url="/mails/recovery.html"),
        ),
        notification=Notifications(password_changed=Notification(url="@elsewhere.example/x")),
    )

    assert urls_of(email, "https://site.example/app/") == {
        EmailKind.INVITE: "https://cdn.example/invite.html",
        EmailKind.RECOVERY: "https://site.example/app/mails/recovery.html",
        EmailKind.PASSWORD_CHANGED: "https://site.example/app/@elsewhere.example/x",
    }


async def test_emails_of_the_service_are_written_with_it(mailed: AuthPool, office: Office, site: Site):
    own = Template(subject="Hi", url="/confirm.html")
    auth_pool, email = mailed.having(email__template__confirmation=own, site_url=site.url), address()

    await auth_pool.ok("POST", "/signup", {"email": email, "password": PASSWORD})

    (message,) = office.to(email)
    assert message.subject == "Hi"
    assert message.html.strip() == f"<p>Ours: {office.code(email)}</p>"
    assert site.asked == ["/confirm.html"]


async def test_emails_are_sent_though_the_template_cannot_be_had(
    mailed: AuthPool, office: Office, site: Site
):
    site.status = 404
    auth_pool, email = (
        mailed.having(email__template__recovery=Template(url=f"{site.url}/gone.html")),
        address(),
    )
    await auth_pool.context.outbox.mail(
        EmailKind.RECOVERY, email, TemplateValues(email=email, token="123456")
    )

    (message,) = office.to(email)
    assert "123456" in message.text
