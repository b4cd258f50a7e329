"""Values of administrators, sessions and tokens. Pure."""

from msgspec import Struct

from workers.management.rights import Right


class Administrator(Struct, frozen=True):
    """An administrator as the interface shows it. Times are ISO 8601 with zone."""

    id: str
    email: str
    rights: Right
    has_password: bool
    has_totp: bool
    created_at: str
    signed_in_at: str | None = None
    disabled_at: str | None = None


class AdministratorSession(Struct, frozen=True):
    """A session of an administrator. `address` and `user_agent` are those of the sign-in."""

    id: str
    administrator_id: str
    created_at: str
    used_at: str
    confirmed_at: str
    address: str
    user_agent: str


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

    `name` stands in audit rows. `is_confirmed`: a password or a link was proved within `CONFIRMED_S`; tokens always are.
    """

    name: str
    rights: Right
    may_write: bool
    is_confirmed: bool
    administrator_id: str | None = None
    session_id: str | None = None
    token_id: str | None = None
