"""Signing in: by address and password, by a one-time link, or by a passkey; the result is the secret of a new session.

    password, link --no second factor enrolled--> session
                   --second factor enrolled-----> session that may do nothing but give it --code, recovery code, passkey--> session
    passkey -----------------------------------------------------------------------------------------------------------> session

Every step makes a new secret, and the session whose cookie came along ends: a secret that another set or saw before is worth
nothing afterwards (session fixation). An unknown address takes the same time and gives the same answer as a wrong password.
Limits on guessing: `attempts.py`.
"""

from dataclasses import dataclass, field

from msgspec import Struct

from schemas.client_networks import client_network
from schemas.keys.secret_record import SecretRecord
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity import attempts, passkeys, recovery, totp_factor
from workers.management.interface.identity.model import Actor
from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.passkeys import PasskeyAnswer, PasskeyUse, party_of
from workers.management.interface.identity.personal_data import Lookup, Personal
from workers.management.interface.identity.secrets import FactorSecrets, PasswordHashing, digest, new_secret
from workers.management.interface.identity.store import execute, fetch_one

_MOST_AGENT = 200
TOTP, PASSKEY, RECOVERY_CODE = "totp", "passkey", "recovery_code"


class _Login(SecretRecord, Struct):
    id: str
    email: str
    has_totp: bool
    passkeys: int
    password: str | None = None

    @property
    def factors(self) -> list[str]:
        """Return the kinds of second factor that the administrator has; empty if none is enrolled."""
        enrolled = [TOTP] * self.has_totp + [PASSKEY] * (self.passkeys > 0)
        return [*enrolled, RECOVERY_CODE] if enrolled else []


@dataclass(frozen=True, slots=True)
class ClientOrigin:
    """Where a request comes from; `cookie` is the secret of the session that it brought, or empty."""

    address: str
    user_agent: str
    origin: str = ""
    cookie: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class StartedSession:
    """A new session, and the secret for its cookie. `factors`: one of these is needed before the session can be used."""

    administrator_id: str
    email: str
    secret: str = field(repr=False)
    factors: list[str]


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """One proof: a code of an authenticator app, a recovery code, or the answer of a passkey."""

    code: str = field(default="", repr=False)
    recovery_code: str = field(default="", repr=False)
    passkey: PasskeyAnswer | None = None

    @property
    def method(self) -> str:
        """Return which proof it is."""
        return PASSKEY if self.passkey is not None else RECOVERY_CODE if self.recovery_code else TOTP


async def sign_in_by_password(
    pool: OwnPool, hashing: PasswordHashing, email: str, password: str, client: ClientOrigin
) -> StartedSession:
    """Sign in by address and password. Raises: ManagementError (401, 429)."""
    keys = await attempts.count_password(pool, email, client.address)
    login = await fetch_one(pool, "by_email", _Login, Lookup(email.strip().lower()))
    is_right = await hashing.verify(password, login.password if login else None)
    if login is None or not is_right:
        raise ManagementError(401, "invalid_credentials", "The address or the password is wrong")
    await attempts.forget(pool, keys)
    await attempts.forgive_network(pool, client.address)
    return await _start(pool, login, "password", client)


async def sign_in_by_link(pool: OwnPool, secret: str, client: ClientOrigin) -> StartedSession:
    """Sign in by the secret of a link, which is used up. Raises: ManagementError (401, 429)."""
    login = await fetch_one(pool, "use_link", _Login, digest(secret))
    if login is None:
        await attempts.count_network(pool, client.address)
        raise ManagementError(
            401,
            "invalid_link",
            "This link was used, or its time is over",
            hint="`headwater admin reset` prints a new one.",
        )
    return await _start(pool, login, "link", client)


async def sign_in_by_passkey(pool: OwnPool, answer: PasskeyAnswer, client: ClientOrigin) -> StartedSession:
    """Sign in by a passkey, whose authenticator checked its user. Raises: ManagementError (400, 401, 429)."""
    used = await _passkey(pool, answer, client, None)
    login = _Login(used.administrator_id, used.email, has_totp=False, passkeys=0)
    return await _start(pool, login, PASSKEY, client)


async def give_factor(
    pool: OwnPool, keys: FactorSecrets, actor: Actor, factor: SecondFactor, client: ClientOrigin
) -> StartedSession:
    """Record the second factor of a session and return it with a new secret. Raises: ManagementError (400, 401, 409, 429)."""
    administrator_id, session_id = actor.administrator_id or "", actor.session_id
    if session_id is None or not actor.needs_factor:
        raise ManagementError(409, "no_factor_needed", "This session does not wait for a second factor")
    await prove(pool, keys, administrator_id, factor, client)
    secret = new_secret()
    if not await execute(pool, "complete_session", session_id, digest(secret)):
        raise ManagementError(
            409, "no_factor_needed", "This session has its second factor, or ended meanwhile"
        )
    await _note_success(pool, administrator_id, client)
    return StartedSession(administrator_id, actor.name, secret, [])


async def prove(
    pool: OwnPool,
    keys: FactorSecrets,
    administrator_id: str,
    factor: SecondFactor,
    client: ClientOrigin,
) -> None:
    """Verify a second factor of an administrator. Raises: ManagementError (400, 401, 429)."""
    match factor.method:
        case "passkey":
            assert factor.passkey is not None  # what `method` says
            await _passkey(pool, factor.passkey, client, administrator_id)
        case "recovery_code":
            await recovery.use(pool, keys, administrator_id, factor.recovery_code, client.address)
        case _:
            await totp_factor.verify(pool, keys, administrator_id, factor.code)


async def confirm_password(
    pool: OwnPool, hashing: PasswordHashing, actor: Actor, password: str, client: ClientOrigin
) -> None:
    """Verify the password of the administrator of a session again. Raises: ManagementError (401, 429)."""
    keys = await attempts.count_password(pool, actor.name, client.address)
    login = await fetch_one(pool, "by_email", _Login, Lookup(actor.name.lower()))
    if not await hashing.verify(password, login.password if login else None):
        raise ManagementError(401, "invalid_credentials", "The password is wrong")
    await attempts.forget(pool, keys)
    await attempts.forgive_network(pool, client.address)


async def _passkey(
    pool: OwnPool, answer: PasskeyAnswer, client: ClientOrigin, administrator_id: str | None
) -> PasskeyUse:
    """Verify a passkey; a wrong answer counts against the network. Raises: ManagementError (400, 401, 429)."""
    try:
        return await passkeys.use(pool, party_of(client.origin), answer, administrator_id)
    except ManagementError as error:
        if error.status == 401:
            await attempts.count_network(pool, client.address)
        raise


async def _start(pool: OwnPool, login: _Login, method: str, client: ClientOrigin) -> StartedSession:
    secret, factors = new_secret(), login.factors
    agent = client.user_agent.encode(errors="replace").decode()[:_MOST_AGENT].replace("\0", "")
    if client.cookie:
        await execute(pool, "end_session_of_secret", digest(client.cookie))
    needs_factor = bool(factors)
    origin = (Personal(client.address), Personal(agent))
    await execute(pool, "add_session", login.id, digest(secret), *origin, method, needs_factor)
    if not needs_factor:
        await _note_success(pool, login.id, client)
    return StartedSession(login.id, login.email, secret, factors)


async def _note_success(pool: OwnPool, administrator_id: str, client: ClientOrigin) -> None:
    await execute(pool, "note_sign_in", administrator_id)
    network = Lookup(client_network(client.address))
    await execute(pool, "remember_network", administrator_id, network)
