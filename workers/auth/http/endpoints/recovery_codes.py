"""Recovery codes: shown once, each good for one sign-in. Source: reference page "auth", section 9.6."""

from uuid import UUID, uuid4

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes.limits import take
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users import users
from workers.auth.accounts.users.shown import Shown
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.factors import factors, recovery_codes
from workers.auth.factors.factor_notices import Change, tell
from workers.auth.factors.factor_verdict import Attempt, record, refuse_invalid
from workers.auth.factors.factors import RECOVERY_CODE
from workers.auth.factors.recovery_codes import CodeSet, Tries
from workers.auth.factors.second_factor import Enrolment, NewFactor
from workers.auth.http.endpoints.factor_owner import Owner, answer_limit, owner
from workers.auth.model import rejections
from workers.auth.model.request import Asked, answer
from workers.database.interactive import Transaction


class Making(msgspec.Struct):
    """A set of codes that somebody wants to have."""

    friendly_name: str = ""


class Answering(msgspec.Struct):
    """A code from paper."""

    code: str = ""


async def show(accounts: Accounts, asked: Asked) -> Response:
    """Tell how many codes there are, and how many still work. Raises: AuthError (404)."""
    async with accounts.transaction() as transaction:
        caller = await owner(accounts, asked, transaction)
        found = await recovery_codes.find(transaction, caller.user.id)
    return answer({**_named(found), "total": found.total, "remaining": found.remaining})


async def create(accounts: Accounts, asked: Asked) -> Response:
    """Make a set of codes beside another factor; they are told once. Raises: AuthError (403, 422)."""
    body, now = asked.read(Making), accounts.now()
    wanted = Enrolment(uuid4(), body.friendly_name)
    async with accounts.transaction() as transaction:
        caller = await owner(accounts, asked, transaction)
        _refuse_making(accounts, caller)
        if await recovery_codes.find_any(transaction, caller.user.id) is not None:
            raise rejections.RECOVERY_CODES_EXIST()
        factors.refuse_name(body.friendly_name, caller.user.factors)
        codes, hashes = _drawn(accounts, caller)
        new = NewFactor()
        await factors.add(transaction, caller.user.id, wanted, RECOVERY_CODE, new, now, is_verified=True)
        await recovery_codes.make(transaction, caller.user.id, wanted.id, hashes, now)
        await _record(accounts, transaction, asked, Action.FACTOR_IN_PROGRESS, caller, wanted.id)
    await tell(accounts, caller.user, Change.ENROLLED, RECOVERY_CODE)
    shown = {"id": str(wanted.id), "type": RECOVERY_CODE, "friendly_name": body.friendly_name}
    return answer({**shown, "total": len(codes), "codes": codes})


async def regenerate(accounts: Accounts, asked: Asked) -> Response:
    """Give other codes in the place of the old ones; a lock ends. Raises: AuthError (403, 404, 422)."""
    now = accounts.now()
    async with accounts.transaction() as transaction:
        caller = await owner(accounts, asked, transaction)
        _refuse_making(accounts, caller)
        found = await recovery_codes.find(transaction, caller.user.id)
        codes, hashes = _drawn(accounts, caller)
        await recovery_codes.renew(transaction, found, hashes, now)
        await _record(accounts, transaction, asked, Action.FACTOR_UPDATED, caller, found.factor_id)
    shown = {**_named(found), "friendly_name": found.friendly_name or ""}
    return answer({**shown, "total": len(codes), "codes": codes})


async def verify(accounts: Accounts, asked: Asked) -> Response:
    """Give a session at aal2 for a code that was not used before. Raises: AuthError (404, 422, 429)."""
    await take(accounts.database, answer_limit(accounts.settings.mfa, "verify"), asked.device.address)
    attempt = await _compare(accounts, asked, asked.read(Answering).code)
    await refuse_invalid(accounts, asked, attempt)
    async with accounts.transaction() as transaction:
        caller = await owner(accounts, asked, transaction)
        found = await recovery_codes.find(transaction, caller.user.id)
        granted = await sessions.raise_level(
            transaction,
            accounts.vault,
            caller.session,
            Method.MFA_RECOVERY_CODE,
            found.factor_id,
            asked.device,
        )
        user = await users.find_by_id(transaction, caller.user.id) or caller.user
    return answer(await accounts.session_shown(user, granted))


async def remove(accounts: Accounts, asked: Asked) -> Response:
    """Remove all codes; sessions that they raised drop to aal1. Raises: AuthError (404, 422)."""
    async with accounts.transaction() as transaction:
        caller = await owner(accounts, asked, transaction)
        found = await recovery_codes.find(transaction, caller.user.id)
        if not factors.is_aal2(caller.session):
            raise rejections.REMOVAL_NEEDS_AAL2()
        await factors.remove(transaction, found.factor_id)
        await sessions.lower_level(transaction, found.factor_id)
        await _record(accounts, transaction, asked, Action.FACTOR_UNENROLLED, caller, found.factor_id)
    await tell(accounts, caller.user, Change.UNENROLLED, RECOVERY_CODE)
    return answer({"id": str(found.factor_id)})


async def _compare(accounts: Accounts, asked: Asked, code: str) -> Attempt:
    """Tell whether a code is right, and use it up or count it."""
    settings, now = accounts.settings.mfa.recovery_codes, accounts.now()
    if not settings.verify_enabled:
        raise rejections.RECOVERY_VERIFY_OFF()
    async with accounts.transaction() as transaction:
        caller = await owner(accounts, asked, transaction)
        found = await recovery_codes.find(transaction, caller.user.id)
        recovery_codes.refuse_locked(found, now)
        given = recovery_codes.normal_code(code)
        if not given:
            raise rejections.NO_MFA_CODE()
        hashed = recovery_codes.hash_of(given, caller.user.id, accounts.code_key)
        is_right = await recovery_codes.use(transaction, found, hashed, now)
        tries = Tries() if is_right else recovery_codes.after_failure(found, settings, now)
        await recovery_codes.count(transaction, found, tries, now)
        wrong = rejections.WRONG_RECOVERY_CODE()
        attempt = Attempt(caller.user, found.factor_id, RECOVERY_CODE, is_right, wrong)
        await record(accounts, transaction, asked, attempt)
    return attempt


async def _record(
    accounts: Accounts, transaction: Transaction, asked: Asked, action: Action, caller: Owner, id: UUID
) -> None:
    traits = {"factor_id": str(id), "factor_type": RECOVERY_CODE}
    await audit.record(accounts, transaction, asked, action, caller.user, traits)


def _refuse_making(accounts: Accounts, caller: Owner) -> None:
    if not accounts.settings.mfa.recovery_codes.enroll_enabled:
        raise rejections.RECOVERY_ENROLL_OFF()
    if not factors.verified(caller.user.factors):
        raise rejections.RECOVERY_CODES_ALONE()
    if not factors.is_aal2(caller.session):
        raise rejections.RECOVERY_CODES_NEED_AAL2()


def _drawn(accounts: Accounts, caller: Owner) -> tuple[list[str], list[str]]:
    """Draw codes, and give them with what is kept of them."""
    drawn = recovery_codes.new_codes(accounts.settings.mfa.recovery_codes)
    return drawn, [recovery_codes.hash_of(each, caller.user.id, accounts.code_key) for each in drawn]


def _named(found: CodeSet) -> Shown:
    return {"id": str(found.factor_id), "type": RECOVERY_CODE}
