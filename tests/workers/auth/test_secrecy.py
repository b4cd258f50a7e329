"""Nothing secret is kept in clear, and nothing is written to a log: the real values of whole ways are looked for in both.

One walk through everything, on a database of its own; then every table of the schema, all that a process writes at its
lowest log level, and the log of the database server.
"""

import base64
import hashlib
import io
import json
import logging
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
import structlog

from broker.observability.observe import configure
from schemas.keys.secret import Secret
from schemas.settings.tree import Settings
from tests.schemas.rsa_key import RSA_KEY
from tests.workers.auth.auth_pool import (
    ADMIN,
    OPEN,
    UNLIMITED,
    AuthPool,
    Clock,
    SignedInUser,
    address,
    number,
    open_auth_pool,
)
from tests.workers.auth.federation.oauth_server.flow import ON as OAUTH_SERVER
from tests.workers.auth.federation.oauth_server.flow import VERIFIER as CLIENT_VERIFIER
from tests.workers.auth.federation.oauth_server.flow import Flow
from tests.workers.auth.federation.saml.conftest import known
from tests.workers.auth.office import (
    AT_ANY_TIME,
    CONFIRMED,
    Office,
    Phones,
    landed,
    with_office,
    with_phones,
)
from tests.workers.auth.oidc_provider import CLIENT_SECRET, OidcProvider, running
from tests.workers.auth.passkey_user import PASSKEYS, enter, register
from tests.workers.auth.second_factors import OPEN_FACTORS, App, enroll_app, next_step, settle
from tests.workers.auth.social_browser import departs, goes, open_for, returns, visits
from tests.workers.credentials.authenticator import Authenticator
from tests.workers.database.server import Server, migrated_server
from workers.auth.delivery.transport import NoTransport
from workers.auth.model.pkce import s256
from workers.database.migrations.migrate import migrate

VERIFIER = secrets.token_urlsafe(48)
PKCE = {"code_challenge": s256(VERIFIER), "code_challenge_method": "s256"}
LONG_CODES = {"email__otp_length": 10, "sms__otp_length": 10}
EVERYTHING: dict[str, object] = {
    **UNLIMITED, **OPEN, **CONFIRMED, **AT_ANY_TIME, **LONG_CODES, **OPEN_FACTORS, **PASSKEYS, **OAUTH_SERVER,
    "saml__enabled": True,
    "saml__private_key": Secret(RSA_KEY),
    "custom_oauth__allow_private_hosts": True,
}  # fmt: skip


FILLED = {
    "users", "identities", "sessions", "refresh_tokens", "one_time_tokens", "flow_state", "oauth_client_states",
    "mfa_factors", "mfa_challenges", "mfa_recovery_codes", "webauthn_credentials", "saml_providers", "oauth_clients",
    "oauth_authorizations", "custom_oauth_providers", "audit_log_entries", "rate_limits",
}  # fmt: skip
"""Tables that the walk must fill, or it shows nothing."""


@dataclass
class Walk:
    """A worker where everything is open, and what nobody else may read of the ways through it."""

    auth_pool: AuthPool
    office: Office
    secrets: dict[str, str] = field(default_factory=dict)

    def keep(self, name: str, value: object) -> str:
        """Note a secret."""
        text = str(value)
        assert len(text) >= 6, f"{name} is too short to be looked for"
        self.secrets[f"{name} {len(self.secrets)}"] = text
        return text

    def password(self) -> str:
        return self.keep("password", f"pass {secrets.token_urlsafe(12)}")

    def mailed(self, email: str) -> tuple[str, str]:
        """Return code and link token of the newest email."""
        return self.keep("code", self.office.code(email)), self.keep("link token", self.office.token(email))

    def session(self, body: dict[str, Any]) -> SignedInUser:
        """Note the tokens of a session."""
        signed = self.auth_pool.signed(body if "user" in body else {**body, "user": {}})
        token = self.keep("access token", body["access_token"])
        self.keep("signature", token.rpartition(".")[2])
        self.keep("refresh token", body["refresh_token"])
        for name in ("provider_token", "provider_refresh_token"):
            if body.get(name):
                self.keep(name, body[name])
        return signed

    async def enter(self, target: str, body: object, caller: Any = None) -> SignedInUser:
        """Send what is answered with a session."""
        given = {} if caller is None else {"caller": caller}
        return self.session(await self.auth_pool.ok("POST", target, body, **given))

    async def follow(self, email: str) -> dict[str, str]:
        """Follow the newest link, and give the fields of where it leads."""
        self.mailed(email)
        _, query, fragment = landed(await self.auth_pool.send("GET", self.office.path(email)))
        return query | fragment


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with migrated_server() as server:
        yield server


@pytest.fixture
async def walk(server: Server, office: Office) -> AsyncIterator[Walk]:
    """The worker, its mails caught; the clock is its own."""
    await migrate(server.url(), Settings())
    async with open_auth_pool(server.url()) as whole:
        own = AuthPool(whole.context, whole.admin, Clock()).having(**EVERYTHING)
        yield Walk(with_office(own, office), office)


@pytest.fixture
async def realm() -> AsyncIterator[OidcProvider]:
    async with running() as provider:
        yield provider


@pytest.fixture
def logged(capsys: pytest.CaptureFixture[str]) -> Iterator[io.StringIO]:
    """All that a process writes whose log level is the lowest: what we observe, and what libraries warn of."""
    root, text = logging.getLogger(), io.StringIO()
    level, handlers = root.level, root.handlers[:]
    configure("debug", "json", "test")
    structlog.configure(logger_factory=structlog.WriteLoggerFactory(file=text))
    yield text
    configure()
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
    assert capsys.readouterr().out == ""


async def dump(walk: Walk) -> dict[str, str]:
    """Return every table of the schema as text."""
    names = await walk.auth_pool.admin.fetch(
        "select tablename::text as name from pg_tables where schemaname = 'auth'"
    )
    tables = {}
    for (name,) in names:
        rows = await walk.auth_pool.admin.fetch(f'select row_to_json(t)::text from auth."{name}" t')
        tables[name] = "\n".join(row[0] for row in rows)
    return tables


def spellings(secret: str) -> Iterator[str]:
    """Return a secret as it is, as JSON and SQL write it, and in the usual encodings, which hide nothing."""
    data = secret.encode()
    yield secret
    yield json.dumps(secret)[1:-1]
    yield secret.replace("'", "''")
    yield hashlib.sha256(data).hexdigest() if len(data) < 12 else secret  # a short one is found by trying all
    if len(data) >= 12:  # shorter ones are found by chance
        yield data.hex()
        yield base64.b64encode(data).decode().rstrip("=")[:-1]
        yield base64.urlsafe_b64encode(data).decode().rstrip("=")[:-1]


def holds(text: str, secret: str) -> bool:
    """Return whether a text holds a secret; digits of a longer number, or of a time, are none."""
    if secret.isdigit() and re.search(rf"(?<![\w.:-]){secret}(?![\w.:-])", text):
        return True
    return any(each in text for each in spellings(secret) if not each.isdigit())


def found_in(places: dict[str, str], walk: Walk) -> list[str]:
    """Name what should not be there, and where; never the value itself."""
    return [f"{name} in {place}" for place, text in places.items() for name, secret in walk.secrets.items() if holds(text, secret)]  # fmt: skip


async def test_nothing_secret_is_kept_in_clear_or_logged(
    walk: Walk, office: Office, phones: Phones, realm: OidcProvider, logged: io.StringIO, server: Server
):
    walk.keep("jwt secret", walk.auth_pool.context.settings.jwt_secret.reveal())
    for way in (
        with_mail,
        with_mistakes,
        with_administrators,
        with_factors,
        with_passkey,
        with_saml,
        with_client,
    ):
        await way(walk)
    await with_phone(Walk(with_phones(walk.auth_pool, phones), office, walk.secrets), phones)
    provided = Walk(open_for(walk.auth_pool, realm), office, walk.secrets)
    await with_provider(provided, realm)
    back = await visits(await departs(provided.auth_pool, **PKCE))

    tables = await dump(walk)

    await returns(provided.auth_pool, back)
    keep_exchanged(provided, realm)
    assert {name for name, text in tables.items() if text} >= FILLED
    assert len(walk.secrets) > 100
    assert "MessageNotSent" in logged.getvalue()
    assert found_in(tables, walk) == []
    assert found_in({"our log": logged.getvalue(), "the server's log": server.log()}, walk) == []


async def test_what_is_looked_for_would_be_found(walk: Walk, logged: io.StringIO):
    password, code = walk.password(), walk.keep("code", "0123456789")
    signed = await walk.auth_pool.having(email__enable_confirmations=False).sign_up()
    told = {"data": {"a": password, "b": f"Your code is {code}"}}
    await walk.auth_pool.ok("PUT", "/user", told, signed.caller)
    logging.getLogger("somebody").warning("the password is %s", password)

    assert {each.rpartition(" ")[2] for each in found_in(await dump(walk), walk)} >= {"users"}
    assert len(found_in({"log": logged.getvalue()}, walk)) == 1


# The ways


async def with_mail(walk: Walk) -> None:
    """Confirm, come back by a code, a link and a flow, lose the password, change the address."""
    auth_pool, email, password = walk.auth_pool, address(), walk.password()
    await auth_pool.ok("POST", "/signup", {"email": email, "password": password})
    code, _ = walk.mailed(email)
    who = await walk.enter("/verify", {"type": "signup", "email": email, "token": code})
    renewed = await walk.enter("/token?grant_type=refresh_token", {"refresh_token": who.refresh_token})
    await auth_pool.ok("POST", "/otp", {"email": email})
    code, _ = walk.mailed(email)
    await walk.enter("/verify", {"type": "email", "email": email, "token": code})
    await auth_pool.ok("POST", "/otp", {"email": email, **PKCE})
    auth_code = walk.keep("auth code", (await walk.follow(email))["code"])
    verifier = walk.keep("code verifier", VERIFIER)
    await walk.enter("/token?grant_type=pkce", {"auth_code": auth_code, "code_verifier": verifier})
    await auth_pool.ok("POST", "/recover", {"email": email})
    walk.session(await walk.follow(email))
    await auth_pool.ok("GET", "/reauthenticate", caller=renewed.caller)
    nonce = walk.keep("nonce", walk.office.code(email))
    changed = {"password": walk.password(), "nonce": nonce}
    await auth_pool.ok("PUT", "/user", changed, renewed.caller)
    body = {"email": email, "password": changed["password"]}
    again = await walk.enter("/token?grant_type=password", body)
    new = address()
    await auth_pool.ok("PUT", "/user", {"email": new}, again.caller)
    walk.session(await walk.follow(new))
    rows = AuthPool(
        walk.auth_pool.having(refresh_token_algorithm_version=0).context, auth_pool.admin, auth_pool.clock
    )
    old = Walk(rows, walk.office, walk.secrets)
    first = await old.enter("/token?grant_type=password", {**body, "email": new})
    await old.enter("/token?grant_type=refresh_token", {"refresh_token": first.refresh_token})


async def with_mistakes(walk: Walk) -> None:
    """Type what is almost right, use things twice, and meet a database and a mail server that refuse."""
    auth_pool, email = walk.auth_pool, address()
    password, typed = walk.password(), walk.password()
    await auth_pool.ok("POST", "/signup", {"email": email, "password": password})
    code, token = walk.mailed(email)
    who = await walk.enter("/verify", {"type": "signup", "email": email, "token": code})
    await auth_pool.refused("POST", "/verify", {"type": "signup", "email": email, "token": code})
    await auth_pool.refused("POST", "/verify", {"type": "signup", "token_hash": token})
    await auth_pool.refused("POST", "/token?grant_type=password", {"email": email, "password": typed})
    second = await walk.enter("/token?grant_type=refresh_token", {"refresh_token": who.refresh_token})
    await walk.enter("/token?grant_type=refresh_token", {"refresh_token": second.refresh_token})
    auth_pool.clock.forward(minutes=1)
    await auth_pool.refused("POST", "/token?grant_type=refresh_token", {"refresh_token": who.refresh_token})
    await refusing_database(walk)
    closed = with_office(auth_pool, Office(walk.office.caught, NoTransport()))
    assert (await closed.send("POST", "/otp", {"email": email})).status >= 400


async def refusing_database(walk: Walk) -> None:
    """Sign up where a check of the project fails: Postgres would name the row."""
    auth_pool = walk.auth_pool
    await auth_pool.admin.execute(
        "alter table auth.users add constraint no_robots check (email not like 'robot%')"
    )
    try:
        body = {"email": f"robot{address()}", "password": walk.password()}
        assert (await auth_pool.send("POST", "/signup", body)).status >= 400
    finally:
        await auth_pool.admin.execute("alter table auth.users drop constraint no_robots")


async def with_administrators(walk: Walk) -> None:
    """Make accounts and links by an admin's hand, and a provider with a secret."""
    auth_pool, email, password = walk.auth_pool, address(), walk.password()
    body = {"email": email, "password": password, "email_confirm": True}
    made = await auth_pool.ok("POST", "/admin/users", body, ADMIN)
    await auth_pool.ok("PUT", f"/admin/users/{made['id']}", {"password": walk.password()}, ADMIN)
    link = await auth_pool.ok("POST", "/admin/generate_link", {"type": "recovery", "email": email}, ADMIN)
    walk.keep("code", link["email_otp"])
    walk.keep("link token", link["hashed_token"])
    walk.keep("link token", parse_qs(urlsplit(link["action_link"]).query)["token"][0])
    invited = address()
    await auth_pool.ok("POST", "/invite", {"email": invited}, ADMIN)
    walk.session(await walk.follow(invited))
    provider = {
        "provider_type": "oauth2", "identifier": "custom:acme", "name": "Acme", "client_id": "c",
        "client_secret": walk.keep("client secret", secrets.token_urlsafe(24)),
        "authorization_url": "https://acme.example/in", "token_url": "https://acme.example/token",
        "userinfo_url": "https://acme.example/me",
    }  # fmt: skip
    assert (await auth_pool.send("POST", "/admin/custom-providers", provider, ADMIN)).status == 201


async def with_factors(walk: Walk) -> None:
    """Set an app up, and use it and codes from paper."""
    auth_pool = settle(walk.auth_pool)
    who = await signed_up(walk)
    app = await enroll_app(auth_pool, who)
    walk.keep("TOTP secret", app.secret)
    raised = await typed(walk, app, who)
    codes = (await auth_pool.ok("POST", "/factors/recovery-codes", {}, raised.caller))["codes"]
    for each in codes:
        walk.keep("recovery code", each)
        walk.keep("recovery code", re.sub(r"\W", "", each))
    await walk.enter("/factors/recovery-codes/verify", {"code": codes[0]}, raised.caller)
    next_step(auth_pool)
    await typed(walk, app, raised)
    await app.refused(raised, walk.keep("TOTP code", app.wrong()))
    await enroll_app(auth_pool, raised)


async def typed(walk: Walk, app: App, who: SignedInUser) -> SignedInUser:
    """Answer with what the app shows."""
    code = walk.keep("TOTP code", app.code())
    body = {"challenge_id": await app.challenge(who), "code": code}
    return await walk.enter(f"/factors/{app.id}/verify", body, who.caller)


async def with_passkey(walk: Walk) -> None:
    who, one = await signed_up(walk), Authenticator()
    await register(walk.auth_pool, who, one)
    walk.session((await enter(walk.auth_pool, one)).body)


async def with_saml(walk: Walk) -> None:
    organization = await known(walk.auth_pool)
    walk.keep("SAML key", RSA_KEY[200:280])
    landing = await organization.arrive(organization.idp.tree(organization.says()))
    walk.session(landing.fragment)


async def with_client(walk: Walk) -> None:
    """Let an application of somebody else in."""
    flow, who = Flow(walk.auth_pool), await signed_up(walk)
    client = await flow.client()
    walk.keep("client secret", client["client_secret"])
    code = walk.keep("auth code", await flow.code(client, who))
    walk.keep("code verifier", CLIENT_VERIFIER)
    _, tokens = await flow.exchange(client, code)
    walk.session(tokens)
    _, again = await flow.refresh(client, tokens["refresh_token"])
    walk.session(again)
    assert (await flow.exchange(client, code))[0] == 400


async def with_phone(walk: Walk, phones: Phones) -> None:
    """Come in by a code on the phone, and have it as second factor."""
    auth_pool, phone = walk.auth_pool, number()
    await auth_pool.ok("POST", "/otp", {"phone": phone})
    code = walk.keep("code", phones.code(phone))
    who = await walk.enter("/verify", {"type": "sms", "phone": phone, "token": code})
    body = {"factor_type": "phone", "phone": phone}
    factor = (await auth_pool.ok("POST", "/factors", body, who.caller))["id"]
    challenge = (await auth_pool.ok("POST", f"/factors/{factor}/challenge", {}, who.caller))["id"]
    answer = {"challenge_id": challenge, "code": walk.keep("code", phones.code(phone))}
    await walk.enter(f"/factors/{factor}/verify", answer, who.caller)


async def with_provider(walk: Walk, realm: OidcProvider) -> None:
    """Sign in by a provider: at once, by a flow, and by its ID token; and fail."""
    for name, value in (("client secret", CLIENT_SECRET), ("provider token", realm.access_token),
                        ("provider token", realm.refresh_token)):  # fmt: skip
        walk.keep(name, value)
    walk.session((await goes(walk.auth_pool)).fragment)
    back = await visits(await departs(walk.auth_pool, **PKCE))
    walk.keep("provider's code", dict(parse_qsl(back))["code"])
    auth_code = walk.keep("auth code", (await returns(walk.auth_pool, back)).query["code"])
    body = {"auth_code": auth_code, "code_verifier": VERIFIER}
    await walk.enter("/token?grant_type=pkce", body)
    left = (await goes(walk.auth_pool, **PKCE)).query["code"]
    walk.keep("auth code that nobody exchanges", left)
    keep_exchanged(walk, realm)
    token = walk.keep("ID token", realm.id_token(realm.person, realm.access_token))
    given = {"provider": "keycloak", "id_token": token, "access_token": realm.access_token}
    await walk.enter("/token?grant_type=id_token", given)
    assert (
        await walk.auth_pool.send("POST", "/token?grant_type=id_token", {**given, "id_token": token[:-3]})
    ).status == 400
    realm.faults.add("fails_user")
    assert "error" in (await goes(walk.auth_pool)).query


def keep_exchanged(walk: Walk, realm: OidcProvider) -> None:
    """Note what the provider was brought for its tokens."""
    for form in realm.exchanged:
        walk.keep("provider's code", form["code"])
        walk.keep("code verifier", form["code_verifier"])


async def signed_up(walk: Walk) -> SignedInUser:
    email = address()
    await walk.auth_pool.ok("POST", "/signup", {"email": email, "password": walk.password()})
    code, _ = walk.mailed(email)
    return await walk.enter("/verify", {"type": "signup", "email": email, "token": code})
