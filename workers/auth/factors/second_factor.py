"""The interface of a kind of second factor: a record of three functions, and the values that they take and return.

    POST /factors                  kind.enroll     -> NewFactor              columns of the row, members of the response
    POST /factors/{id}/challenge   kind.challenge  -> NewChallenge           columns of the row, members of the response, a message
    POST /factors/{id}/verify      kind.verify     -> bool or DeferredCheck  whether the answer is correct

The endpoints do what all kinds share: authorization, limits, expiry, counting wrong answers, the level of the session. A kind
handles its own secret only. Each function runs in the caller's transaction, in which the user's row is locked, so that
requests of one user run one after another. A message belongs into `NewChallenge.send`, the last step of the transaction.
Every kind has one line in `factor_kinds.py`.
Source: docs/reference/auth.md, section 9.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from schemas.settings.auth_factors import Mfa
from workers.auth.delivery.context import DeliveryContext
from workers.auth.model.claims import SignInMethod
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import AuthUser
from workers.auth.model.user_json import JsonObject
from workers.database.transactions.interactive import Transaction


class FactorRow(Struct, frozen=True):
    """A factor with its secret, as its row contains it. `secret` is encrypted for the factor's id."""

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
        """Return whether the factor was verified."""
        return self.status == "verified"

    def __repr__(self) -> str:
        """Return a text without secrets."""
        return f"FactorRow({self.id}, {self.factor_type}, {self.status})"


class ChallengeRow(Struct, frozen=True):
    """A challenge that waits for its answer. `is_from_here`: it was requested from the address that answers."""

    id: UUID
    factor_id: UUID
    created_at: datetime
    is_from_here: bool
    verified_at: datetime | None = None
    otp_code: str | None = None
    web_authn_session_data: object = None
    failed_attempts: int = 0

    def __repr__(self) -> str:
        """Return a text without secrets."""
        return f"ChallengeRow({self.id})"


@dataclass(frozen=True, slots=True)
class Enrolment:
    """The body of POST /factors; each kind reads its own members. `id` is the id that the factor's row will have."""

    id: UUID
    friendly_name: str = ""
    issuer: str = ""
    phone: str = ""


@dataclass(frozen=True, slots=True)
class NewFactor:
    """What a kind stores of a new factor (`secret` already encrypted), and `body`, its members of the response of POST /factors.

    `draw` returns further members that take time to compute; it runs after the commit.
    """

    body: JsonObject = field(default_factory=dict, repr=False)
    secret: str = field(default="", repr=False)
    phone: str = ""
    draw: Callable[[], JsonObject] | None = None


@dataclass(frozen=True, slots=True)
class ChallengeRequest:
    """The request POST /factors/{id}/challenge, and the address it came from.

    `body` is the whole body, for kinds with members of their own.
    """

    channel: str = ""
    address: str = ""
    body: JsonObject = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class NewChallenge:
    """What a kind stores of a new challenge, `body`, its members of the response, and `send`, the last step of the transaction.

    `otp_code` is a hash; `web_authn_session_data` is JSON.
    """

    body: JsonObject = field(default_factory=dict, repr=False)
    otp_code: str = field(default="", repr=False)
    web_authn_session_data: bytes | None = field(default=None, repr=False)
    send: Callable[[Transaction], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class FactorAnswer:
    """The body of POST /factors/{id}/verify: a code, or the response of a security key (`{"type", "credential_response"}`)."""

    code: str = field(default="", repr=False)
    webauthn: JsonObject | None = field(default=None, repr=False)


DeferredCheck = Callable[[], Awaitable[bool]]
"""Asks another service whether an answer is correct."""


@dataclass(frozen=True, slots=True)
class Switches:
    """What the settings allow of a kind."""

    may_enroll: bool
    may_verify: bool


class EnrollFunction(Protocol):
    """Return what a new factor of a user consists of, or raise AuthError. The caller writes the row afterwards.

    A kind may first delete what the new factor replaces; the maximum number of factors is checked after it.
    """

    async def __call__(
        self, context: DeliveryContext, transaction: Transaction, user: AuthUser, enrolment: Enrolment
    ) -> NewFactor: ...


class ChallengeFunction(Protocol):
    """Return a challenge of a factor, or raise AuthError. The caller writes the row afterwards."""

    async def __call__(
        self,
        context: DeliveryContext,
        transaction: Transaction,
        user: AuthUser,
        factor: FactorRow,
        challenge_request: ChallengeRequest,
    ) -> NewChallenge: ...


class VerifyFunction(Protocol):
    """Return whether an answer is correct, and store what a correct one changes (a step, a counter, a new credential).

    If another service must be asked, return the question (`DeferredCheck`): it is asked after the transaction, in which the
    answer has been counted as a wrong one.

    The challenge is this factor's, live, unused and from this address; the caller counts wrong answers. Raise AuthError only for
    a body that contains no answer: it is not counted. The factor becomes verified later, if no hook rejects the attempt.
    """

    async def __call__(
        self,
        context: DeliveryContext,
        transaction: Transaction,
        user: AuthUser,
        factor: FactorRow,
        challenge: ChallengeRow,
        answer: FactorAnswer,
    ) -> bool | DeferredCheck: ...


@dataclass(frozen=True, slots=True)
class FactorKind:
    """A kind of second factor. `method` is its entry in AMR, `wrong` builds the error for a wrong answer.

    `takes_code`: an answer is a code, and one without a code is rejected before its challenge is looked up.
    """

    method: SignInMethod
    switches: Callable[[Mfa], Switches]
    enroll_off: ErrorCode
    verify_off: ErrorCode
    wrong: Callable[[], AuthError]
    enroll: EnrollFunction
    challenge: ChallengeFunction
    verify: VerifyFunction
    takes_code: bool = True
