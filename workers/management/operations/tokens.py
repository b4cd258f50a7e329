"""Operations on tokens for programs: list, create, remove. A token never has more rights than who made it has today."""

from typing import Annotated

from msgspec import Struct

from schemas.keys.secret_record import SecretRecord
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.model import AdministratorToken
from workers.management.interface.identity.secrets import digest, new_token
from workers.management.interface.identity.store import as_uuid, execute, fetch, fetch_one
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments

_MOST_NAME = 200
_MOST_TOKENS = 500
"""Tokens of one administrator: `tokens.list` has room for them, so that none is out of sight."""
_LONGEST_S = 10 * 366 * 86400.0


class NewToken(Struct, frozen=True, forbid_unknown_fields=True):
    """A token to create. `lasts_s`: seconds until it ends, null for none; without `may_write` it can only read."""

    name: Annotated[str, limits.text(_MOST_NAME)]
    rights: Right = Right.READER
    may_write: bool = False
    lasts_s: float | None = 30 * 86400.0


class CreatedToken(SecretRecord, Struct, frozen=True):
    """The token and its secret, which is not shown again."""

    token: AdministratorToken
    secret: str


class TokenReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A token by its id."""

    id: str


async def list_tokens(context: OperationContext, arguments: NoArguments) -> list[AdministratorToken]:
    """Return one's own tokens, the newest first; an owner gets those of all."""
    del arguments
    mine = context.actor.scope
    return await fetch(await context.database.own(), "tokens", AdministratorToken, mine)


async def create(context: OperationContext, arguments: NewToken) -> CreatedToken:
    """Create a token with at most one's own rights."""
    actor = context.actor
    if not actor.rights.includes(arguments.rights):
        raise ManagementError(403, "no_right", f"Your rights are {actor.rights}; a token cannot have more")
    name = arguments.name.strip()
    if not 1 <= len(name) <= _MOST_NAME or "\0" in name:
        raise invalid_arguments(f"`name` must have 1 to {_MOST_NAME} characters")
    if arguments.lasts_s is not None and not 0 < arguments.lasts_s <= _LONGEST_S:
        raise invalid_arguments("`lasts_s` must be seconds of at most ten years, or null")
    secret = new_token()
    created = await fetch_one(
        await context.database.own(),
        "add_token",
        AdministratorToken,
        name,
        digest(secret),
        secret[-4:],
        arguments.rights.value,
        arguments.may_write,
        actor.administrator_id,
        arguments.lasts_s,
        _MOST_TOKENS,
    )
    if created is None:
        raise ManagementError(
            409, "too_many_tokens", f"An administrator has at most {_MOST_TOKENS} tokens",
            hint="Remove some: tokens.list shows them.",
        )  # fmt: skip
    context.after = created
    return CreatedToken(created, secret)


async def remove(context: OperationContext, arguments: TokenReference) -> Done:
    """Remove a token; it stops working at once. Only an owner may remove that of another administrator."""
    token_id = as_uuid(arguments.id)
    mine = context.actor.scope
    if token_id is None or not await execute(await context.database.own(), "remove_token", token_id, mine):
        raise not_found(f"token {arguments.id}")
    return Done()


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "tokens.list", "List tokens", NoArguments, list[AdministratorToken], Right.READER, list_tokens
        ),
        Operation(
            "tokens.create",
            "Create a token for programs",
            NewToken,
            CreatedToken,
            Right.READER,
            create,
            changes=True,
            is_confirmed=True,
        ),
        Operation(
            "tokens.remove", "Remove a token", TokenReference, Done, Right.READER, remove, changes=True
        ),
    ]
