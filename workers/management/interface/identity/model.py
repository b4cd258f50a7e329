"""Values of administrators, sessions and tokens. Pure."""

from msgspec import Struct

from workers.management.interface.rights import Right
from workers.management.interface.role_limits import RoleLimits

_NO_ADMINISTRATOR = "00000000-0000-0000-0000-000000000000"


class Administrator(Struct, frozen=True):
    """An administrator as the interface shows it. Times are ISO 8601 with zone."""

    id: str
    email: str
    rights: Right
    has_password: bool
    has_totp: bool
    passkeys: int
    created_at: str
    signed_in_at: str | None = None
    disabled_at: str | None = None
    role: str | None = None
    """The role that limits a developer."""


class AdministratorSession(Struct, frozen=True):
    """A session of an administrator. `address` and `user_agent` are those of the sign-in; `method` is password, link or passkey."""

    id: str
    administrator_id: str
    created_at: str
    used_at: str
    confirmed_at: str
    address: str
    user_agent: str
    method: str
    needs_factor: bool
    is_current: bool


class AdministratorToken(Struct, frozen=True):
    """A token for programs, without its secret; `hint` are its last four characters."""

    id: str
    name: str
    hint: str
    rights: Right
    may_write: bool
    created_at: str
    administrator_id: str | None = None
    used_at: str | None = None
    expires_at: str | None = None


class Actor(Struct, frozen=True):
    """Who sends a request: an administrator in a session, or a token.

    `name` stands in audit rows. `is_confirmed`: a password, a factor or a link was proved within `CONFIRMED_S`; tokens always are.
    `needs_factor`: the session lacks its second factor, and may do nothing but give it.
    """

    name: str
    rights: Right
    may_write: bool
    is_confirmed: bool
    administrator_id: str | None = None
    session_id: str | None = None
    token_id: str | None = None
    needs_factor: bool = False
    resource: str | None = None
    """The address at which a token is accepted alone, `/mcp` of this platform; None: everywhere."""
    limits: RoleLimits | None = None
    """The role of the administrator, of a token's too; None: no limits beside the rights."""

    @property
    def scope(self) -> str | None:
        """Whose sessions and tokens the actor may see and end: an administrator's id, or None for those of all, as an owner.

        A token without an administrator (`headwater admin token`) has none of its own.
        """
        return None if self.rights is Right.OWNER else self.administrator_id or _NO_ADMINISTRATOR
