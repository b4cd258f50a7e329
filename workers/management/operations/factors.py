"""Operations on one's own second factors: an authenticator app, recovery codes, passkeys.

Each change needs a confirmation. The first factor ends one's other sessions: they were made without it.
"""

from typing import Any

from msgspec import Struct

from schemas.keys.secret_record import SecretRecord
from workers.management.interface.errors import ManagementError, not_found
from workers.management.interface.identity import passkeys, recovery, totp_factor
from workers.management.interface.identity.passkeys import (
    AdministratorPasskey,
    PasskeyAnswer,
    PasskeyOptions,
    party_of,
    passkey_name,
)
from workers.management.interface.identity.secrets import FactorSecrets
from workers.management.interface.identity.store import as_uuid, execute, fetch, fetch_one
from workers.management.interface.identity.totp_factor import TotpEnrolment
from workers.management.interface.operation import Operation, OperationContext, Run
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments


class OwnFactors(Struct, frozen=True):
    """One's own second factors. `recovery_codes`: how many are unused."""

    totp: bool
    recovery_codes: int
    passkeys: list[AdministratorPasskey]


class FactorAdded(SecretRecord, Struct, frozen=True):
    """A factor is active. `recovery_codes` are new with the first factor, and not shown again."""

    recovery_codes: list[str]
    passkey: AdministratorPasskey | None = None


class TotpCode(SecretRecord, Struct, frozen=True, forbid_unknown_fields=True):
    """Six digits of the app that was just enrolled."""

    code: str


class NewPasskey(Struct, frozen=True, forbid_unknown_fields=True):
    """What the browser returned for the options; without a name the passkey is named after its authenticator."""

    challenge_id: str
    credential: dict[str, Any]
    name: str = ""


class PasskeyName(Struct, frozen=True, forbid_unknown_fields=True):
    """A passkey by its id, and its new name."""

    id: str
    name: str


class PasskeyReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A passkey by its id."""

    id: str


class _Counts(Struct):
    totp: bool
    recovery_codes: int
    passkeys: int


async def list_factors(context: OperationContext, arguments: NoArguments) -> OwnFactors:
    """Return one's own second factors."""
    del arguments
    administrator_id, pool = _own_id(context), await context.database.own()
    counts = await _counts(context, administrator_id)
    keys = await fetch(pool, "passkeys", AdministratorPasskey, administrator_id)
    return OwnFactors(counts.totp, counts.recovery_codes, keys)


async def enrol_totp(context: OperationContext, arguments: NoArguments) -> TotpEnrolment:
    """Return a secret for an authenticator app. It counts once `factors.confirm_totp` gets its first code."""
    del arguments
    administrator_id, pool = _own_id(context), await context.database.own()
    return await totp_factor.enrol(pool, _keys(context), administrator_id, context.actor.name, context.origin)


async def confirm_totp(context: OperationContext, arguments: TotpCode) -> FactorAdded:
    """Accept the first code of an app, which is asked for at sign-in from now on."""
    administrator_id, pool = _own_id(context), await context.database.own()
    context.before = await _counts(context, administrator_id)
    await totp_factor.activate(pool, _keys(context), administrator_id, arguments.code)
    codes = await _after_first(context, administrator_id, context.before)
    return FactorAdded(codes)


async def remove_totp(context: OperationContext, arguments: NoArguments) -> Done:
    """Remove the authenticator app; recovery codes go with the last factor."""
    del arguments
    administrator_id, pool = _own_id(context), await context.database.own()
    if not await execute(pool, "remove_totp", administrator_id):
        raise not_found("authenticator app of yours")
    await execute(pool, "forget_unneeded_codes", administrator_id)
    return Done()


async def renew_recovery_codes(context: OperationContext, arguments: NoArguments) -> FactorAdded:
    """Replace one's recovery codes; the old ones stop working."""
    del arguments
    administrator_id, pool = _own_id(context), await context.database.own()
    counts = await _counts(context, administrator_id)
    if not counts.totp and not counts.passkeys:
        raise ManagementError(
            409, "no_factor", "Recovery codes replace a second factor; enrol an app or a passkey first"
        )
    return FactorAdded(await recovery.renew(pool, _keys(context), administrator_id))


async def passkey_options(context: OperationContext, arguments: NoArguments) -> PasskeyOptions:
    """Return what a page passes to `navigator.credentials.create`."""
    del arguments
    administrator_id, pool = _own_id(context), await context.database.own()
    party = party_of(context.origin)
    return await passkeys.registration_options(pool, party, administrator_id, context.actor.name)


async def add_passkey(context: OperationContext, arguments: NewPasskey) -> FactorAdded:
    """Store a passkey, by which one signs in from now on, and which a password alone no longer replaces."""
    administrator_id, pool = _own_id(context), await context.database.own()
    counts = await _counts(context, administrator_id)
    answer = PasskeyAnswer(arguments.challenge_id, arguments.credential)
    added = await passkeys.register(pool, party_of(context.origin), administrator_id, answer, arguments.name)
    context.after = added
    return FactorAdded(await _after_first(context, administrator_id, counts), added)


async def rename_passkey(context: OperationContext, arguments: PasskeyName) -> AdministratorPasskey:
    """Change the name of a passkey."""
    administrator_id, pool = _own_id(context), await context.database.own()
    name, passkey_id = passkey_name(arguments.name), as_uuid(arguments.id)
    renamed = (
        await fetch_one(pool, "rename_passkey", AdministratorPasskey, passkey_id, administrator_id, name)
        if passkey_id
        else None
    )
    if renamed is None:
        raise not_found(f"passkey {arguments.id}")
    context.after = renamed
    return renamed


async def remove_passkey(context: OperationContext, arguments: PasskeyReference) -> Done:
    """Remove a passkey; recovery codes go with the last factor."""
    administrator_id, pool = _own_id(context), await context.database.own()
    passkey_id = as_uuid(arguments.id)
    if passkey_id is None or not await execute(pool, "remove_passkey", passkey_id, administrator_id):
        raise not_found(f"passkey {arguments.id}")
    await execute(pool, "forget_unneeded_codes", administrator_id)
    return Done()


async def _after_first(context: OperationContext, administrator_id: str, before: _Counts) -> list[str]:
    """After a first factor, end the other sessions and return recovery codes; after another one, return none."""
    if before.totp or before.passkeys:
        return []
    pool = await context.database.own()
    await execute(pool, "end_sessions_of", administrator_id, context.actor.session_id)
    return await recovery.renew(pool, _keys(context), administrator_id)


async def _counts(context: OperationContext, administrator_id: str) -> _Counts:
    counts = await fetch_one(await context.database.own(), "factors", _Counts, administrator_id)
    if counts is None:
        raise not_found("administrator of this session")
    return counts


def _own_id(context: OperationContext) -> str:
    """Return the administrator of the session. Raises: ManagementError (400) for tokens and the command line."""
    actor = context.actor
    if actor.session_id is None or actor.administrator_id is None:
        raise ManagementError(
            400, "needs_session", "A program has no second factors; sign in to change yours"
        )
    return actor.administrator_id


def _keys(context: OperationContext) -> FactorSecrets:
    assert context.factor_secrets is not None  # every worker has one
    return context.factor_secrets


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "factors.list", "List one's second factors", NoArguments, OwnFactors, Right.READER, list_factors
        ),
        _change(
            "factors.enrol_totp", "Begin with an authenticator app", NoArguments, TotpEnrolment, enrol_totp
        ),
        _change(
            "factors.confirm_totp",
            "Give the first code of an app",
            TotpCode,
            FactorAdded,
            confirm_totp,
            frozenset({"code"}),
        ),
        _change("factors.remove_totp", "Remove the authenticator app", NoArguments, Done, remove_totp),
        _change(
            "factors.renew_recovery_codes",
            "Replace one's recovery codes",
            NoArguments,
            FactorAdded,
            renew_recovery_codes,
        ),
        _change(
            "factors.passkey_options",
            "Begin with a passkey",
            NoArguments,
            PasskeyOptions,
            passkey_options,
        ),
        _change(
            "factors.add_passkey",
            "Add a passkey",
            NewPasskey,
            FactorAdded,
            add_passkey,
            frozenset({"credential"}),
        ),
        _change(
            "factors.rename_passkey", "Rename a passkey", PasskeyName, AdministratorPasskey, rename_passkey
        ),
        _change("factors.remove_passkey", "Remove a passkey", PasskeyReference, Done, remove_passkey),
    ]


def _change(
    name: str,
    summary: str,
    arguments: type[Struct],
    result: object,
    run: Run,
    secrets: frozenset[str] = frozenset(),
) -> Operation:
    """Return an operation that changes one's own factors: any right, after a confirmation."""
    return Operation(
        name, summary, arguments, result, Right.READER, run, changes=True, is_confirmed=True, secrets=secrets
    )
