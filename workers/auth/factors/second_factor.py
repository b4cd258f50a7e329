"""What a kind of second factor is, as a record of three functions, and the values that they take and give.

    POST /factors                  kind.enroll     -> NewFactor      columns of the row, members of the answer
    POST /factors/{id}/challenge   kind.challenge  -> NewChallenge   columns of the row, members of the answer, a message
    POST /factors/{id}/verify      kind.verify     -> bool, Later    whether the answer is right

The endpoints do what all kinds share: who may ask, limits, expiry, counting wrong answers, the level of the session.
A kind only knows its own secret. Each function runs in the caller's transaction, in which the user's row is locked, so
that nothing of one user happens twice at the same time; slow work (a message, a request to somebody else) belongs into
`NewChallenge.send`, which runs after the transaction. Every kind has one line in `factor_kinds.py`.
Source: reference page "auth", section 9.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from schemas.settings.auth_factors import Mfa
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users.shown import Shown
from workers.auth.context import Accounts
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import User
from workers.database.interactive import Transaction


class FactorRow(Struct, frozen=True):
    """A factor with what is secret in it, as its row holds it. `secret` is sealed under the factor's id."""

    id: UUID
    user_id: UUID
    factor_type: str
    status: str
    created_at: datetime
    secret: str | None = None
    phone: str | None = None
    friendly_name: str | None = None
    last_challenged_at: datetime | None = None
    last_totp_step: int | None = None
    web_authn_credential: object = None
    web_authn_aaguid: UUID | None = None
    last_webauthn_challenge_data: object = None

    @property
    def is_verified(self) -> bool:
        """Tell whether the factor was set up to its end."""
        return self.status == "verified"

    def __repr__(self) -> str:
        """Show which factor it is, and nothing that is secret."""
        return f"FactorRow({self.id}, {self.factor_type}, {self.status})"


class ChallengeRow(Struct, frozen=True):
    """A challenge that waits for its answer. `is_from_here`: it was asked for from the address that answers."""

    id: UUID
    factor_id: UUID
    created_at: datetime
    is_from_here: bool
    verified_at: datetime | None = None
    otp_code: str | None = None
    web_authn_session_data: object = None
    failed_attempts: int = 0

    def __repr__(self) -> str:
        """Show which challenge it is, and nothing that is secret."""
        return f"ChallengeRow({self.id})"


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What POST /factors brings; a kind reads what is its own. `id` is the id that the factor's row will have."""

    id: UUID
    friendly_name: str = ""
    issuer: str = ""
    phone: str = ""


@dataclass(frozen=True, slots=True)
class NewFactor:
    """What a kind keeps of a new factor (`secret` already sealed), and what it adds to the answer of POST /factors.

    `draw` gives further members that take time to make; it runs after the transaction.
    """

    shown: Shown = field(default_factory=dict, repr=False)
    secret: str = field(default="", repr=False)
    phone: str = ""
    draw: Callable[[], Shown] | None = None


@dataclass(frozen=True, slots=True)
class ChallengeWish:
    """What POST /factors/{id}/challenge brings, and from where it comes.

    `body` is the whole of it, for kinds with members of their own.
    """

    channel: str = ""
    address: str = ""
    body: Shown = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class NewChallenge:
    """What a kind keeps of a new challenge, what it adds to the answer, and what must be sent once it is kept.

    `otp_code` is a hash; `web_authn_session_data` is JSON.
    """

    shown: Shown = field(default_factory=dict, repr=False)
    otp_code: str = field(default="", repr=False)
    web_authn_session_data: bytes | None = field(default=None, repr=False)
    send: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What POST /factors/{id}/verify brings: a code, or what a security key says (`{"type", "credential_response"}`)."""

    code: str = field(default="", repr=False)
    webauthn: Shown | None = field(default=None, repr=False)


Later = Callable[[], Awaitable[bool]]
"""Asks somebody else whether an answer is right."""


@dataclass(frozen=True, slots=True)
class Switches:
    """What the settings allow of a kind."""

    may_enroll: bool
    may_verify: bool


class Enroll(Protocol):
    """Make what a new factor of a user is, or raise AuthError. The row is written afterwards, by the caller.

    A kind may first remove what the new factor replaces; whether the user may have another is looked at after it.
    """

    async def __call__(
        self, accounts: Accounts, transaction: Transaction, user: User, wanted: Enrolment
    ) -> NewFactor: ...


class Challenge(Protocol):
    """Make a challenge of a factor, or raise AuthError. The row is written afterwards, by the caller."""

    async def __call__(
        self,
        accounts: Accounts,
        transaction: Transaction,
        user: User,
        factor: FactorRow,
        wanted: ChallengeWish,
    ) -> NewChallenge: ...


class Verify(Protocol):
    """Tell whether an answer is right, and keep what a right one changes (a step, a counter, a new credential).

    Where somebody else has to be asked, give the question instead (`Later`): it is put after the transaction, in which
    the answer has been counted as a wrong one.

    The challenge is this factor's, live, unused and from this address; a wrong answer is counted by the caller. Raise
    AuthError only for what is no answer at all: it counts as none. The factor becomes verified later, if nobody objects.
    """

    async def __call__(
        self,
        accounts: Accounts,
        transaction: Transaction,
        user: User,
        factor: FactorRow,
        challenge: ChallengeRow,
        answer: Answer,
    ) -> bool | Later: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of second factor. `method` is its entry in AMR, `wrong` the refusal of a wrong answer."""

    method: Method
    switches: Callable[[Mfa], Switches]
    enroll_off: Code
    verify_off: Code
    wrong: Callable[[], AuthError]
    enroll: Enroll
    challenge: Challenge
    verify: Verify
