"""Whether hosts take mail, asked of a name server on loopback, and who is kept out by it. Reference, 18.4."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.workers.auth.auth_pool import ADMIN, ANYBODY, PASSWORD, AuthPool, Clock
from tests.workers.auth.name_server import BROKEN, SILENT, NameServer, name_server
from workers.auth.delivery.email import mail_hosts
from workers.auth.delivery.email.mail_host_queries import MailHostResolver
from workers.auth.delivery.email.mail_hosts import MailHosts

ZONE = {
    "named.dev": {"MX": ["10 mx.named.dev."]},
    "two.dev": {"MX": ["0 .", "10 mx.two.dev."]},
    "none.dev": {"MX": ["0 ."], "A": ["192.0.2.1"]},
    "plain.dev": {"A": ["192.0.2.1"]},
    "six.dev": {"AAAA": ["2001:db8::1"]},
    "empty.dev": {"TXT": ["here"]},
    "silent.dev": SILENT,
    "broken.dev": BROKEN,
}


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[NameServer]:
    monkeypatch.setattr(mail_hosts, "TIMEOUT_S", 0.2)
    async with name_server(ZONE) as server:
        yield server


@pytest.fixture
def hosts(server: NameServer) -> MailHosts:
    return MailHosts(Clock(), MailHostResolver(server.resolver()))


@pytest.fixture
def strict(mailed: AuthPool, hosts: MailHosts) -> AuthPool:
    """A worker that looks hosts up before it sends mail."""
    auth_pool = mailed.having(email__validation_extended=True)
    outbox = replace(auth_pool.context.outbox, hosts=hosts, transport=mailed.context.outbox.transport)
    return AuthPool(replace(auth_pool.context, outbox=outbox), auth_pool.admin, auth_pool.clock)


@pytest.mark.parametrize("host", ["named.dev", "two.dev", "plain.dev", "six.dev"])
async def test_a_host_that_names_a_mail_server_or_has_an_address_takes_mail(hosts: MailHosts, host: str):
    assert await hosts.may_take_mail(host)


@pytest.mark.parametrize(
    "host",
    [
        "none.dev",
        "empty.dev",
        "unknown.dev",
        "sub.unknown.dev",
        "127.0.0.1",
        ".".join(["a" * 60] * 5),
        "a..dev",
    ],
)
async def test_a_host_that_takes_none_or_is_not_there_takes_no_mail(hosts: MailHosts, host: str):
    assert not await hosts.may_take_mail(host)


@pytest.mark.parametrize("host", ["silent.dev", "broken.dev"])
async def test_where_no_name_server_tells_nobody_is_kept_out(hosts: MailHosts, server: NameServer, host: str):
    assert await hosts.may_take_mail(host)
    asked = len(server.asked)

    assert await hosts.may_take_mail(host)

    assert len(server.asked) > asked


async def test_where_there_is_no_name_server_nobody_is_kept_out(server: NameServer):
    resolver = server.resolver()
    assert server.transport is not None
    server.transport.close()

    assert await MailHosts(Clock(), MailHostResolver(resolver)).may_take_mail("unknown.dev")


async def test_the_address_is_looked_up_only_without_a_mail_server(hosts: MailHosts, server: NameServer):
    await hosts.may_take_mail("named.dev")
    await hosts.may_take_mail("six.dev")

    assert server.asked == ["MX named.dev", "MX six.dev", "A six.dev", "AAAA six.dev"]


async def test_answers_are_kept_for_some_minutes(server: NameServer):
    clock = Clock()
    hosts = MailHosts(clock, MailHostResolver(server.resolver()))

    for minutes in (0, 4, 2):
        clock.forward(minutes=minutes)
        assert await hosts.may_take_mail("named.dev")
        assert not await hosts.may_take_mail("unknown.dev")

    assert server.asked == ["MX named.dev", "MX unknown.dev"] * 2


async def test_of_many_hosts_the_latest_are_kept(
    hosts: MailHosts, server: NameServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mail_hosts, "_MOST", 2)
    for host in ("unknown.dev", "named.dev", "two.dev", "named.dev", "unknown.dev"):
        await hosts.may_take_mail(host)

    assert server.asked == ["MX unknown.dev", "MX named.dev", "MX two.dev", "MX unknown.dev"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/signup", {"email": "a@unknown.dev", "password": PASSWORD}),
        ("/otp", {"email": "a@unknown.dev"}),
        ("/magiclink", {"email": "a@unknown.dev"}),
        ("/recover", {"email": "a@unknown.dev"}),
        ("/resend", {"email": "a@unknown.dev", "type": "signup"}),
        ("/invite", {"email": "a@unknown.dev"}),
    ],
)
async def test_nobody_is_written_to_whose_host_takes_no_mail(
    strict: AuthPool, path: str, body: dict[str, str]
):
    caller = ADMIN if path == "/invite" else ANYBODY

    assert await strict.refused("POST", path, body, caller) == (
        400, "email_address_invalid", 'Email address "a@unknown.dev" is invalid',
    )  # fmt: skip
    assert await strict.value("select count(*) from auth.users where email = 'a@unknown.dev'") == 0


async def test_nobody_changes_to_an_address_whose_host_takes_no_mail(strict: AuthPool, mailed: AuthPool):
    signed = await mailed.having(email__enable_confirmations=False).sign_up()

    refused = await strict.refused("PUT", "/user", {"email": "a@none.dev"}, signed.caller)

    assert refused[:2] == (400, "email_address_invalid")


async def test_who_has_a_host_that_takes_mail_is_written_to(strict: AuthPool):
    await strict.ok("POST", "/otp", {"email": "a@named.dev"})
    await strict.ok("POST", "/otp", {"email": "a@silent.dev"})

    await strict.admin.execute("delete from auth.users where email in ('a@named.dev', 'a@silent.dev')")


async def test_hosts_are_not_asked_about_where_the_settings_do_not_want_it(
    strict: AuthPool, server: NameServer
):
    loose = strict.having(email__validation_extended=False)
    outbox = replace(loose.context.outbox, hosts=strict.context.outbox.hosts)
    loose = AuthPool(replace(loose.context, outbox=outbox), loose.admin, loose.clock)

    await loose.ok("POST", "/otp", {"email": "a@unknown.dev"})

    assert server.asked == []
    await loose.admin.execute("delete from auth.users where email = 'a@unknown.dev'")


async def test_without_a_source_the_library_is_loaded_and_the_system_asked():
    """Labels that are too long need no name server."""
    assert not await MailHosts(Clock()).may_take_mail("a..dev")
