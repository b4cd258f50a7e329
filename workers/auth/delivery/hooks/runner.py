"""Asks the project at each point: makes the question, has it answered, and reads the answer.

Nothing here stands within a transaction of a request: an answer may take seconds. Where no hook is set, nothing is
asked and nothing changes. Source: reference page "auth", section 17.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar
from uuid import UUID, uuid4

import msgspec

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.keys.signing import SigningKey, sign
from workers.auth.accounts.sessions.claims import faults_of_hook
from workers.auth.accounts.users.shown import Shown, user_shown
from workers.auth.accounts.users.users import NewUser
from workers.auth.delivery.hooks.in_database import FunctionFailed
from workers.auth.delivery.hooks.points import (
    A,
    AccessToken,
    Decision,
    EmailData,
    Metadata,
    MfaAttempt,
    NewClaims,
    Nothing,
    PasswordAttempt,
    Point,
    Question,
    SendEmail,
    SendSms,
    SmsData,
    UserCreation,
    WrongShape,
    read_answer,
)
from workers.auth.delivery.hooks.reading import Service
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError, RaisedError
from workers.auth.model.rows import User
from workers.auth.model.times import iso


class HookFailed(Observation, frozen=True):
    """A hook did not give the answer it has to give."""

    level: ClassVar[str] = "warning"
    hook: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Hooks:
    """What is asked at each point. `address` is always the client's."""

    services: Mapping[Point, Service] = field(default_factory=dict)
    clock: Callable[[], float] = time.time

    def has(self, point: Point) -> bool:
        """Tell whether anybody is asked at a point."""
        return point in self.services

    async def before_user_created(self, new: NewUser, address: str) -> None:
        """Ask whether an account may be made, before anything is written. Raises: AuthError."""
        if self.has(Point.BEFORE_USER_CREATED):
            metadata = self._metadata(Point.BEFORE_USER_CREATED, address)
            question = UserCreation(metadata, user_shown(_candidate(new, self._now())))
            await self._ask(Point.BEFORE_USER_CREATED, question, Nothing)

    async def after_user_created(self, user: User, address: str) -> None:
        """Tell of an account that was made; its transaction is over. Raises: AuthError."""
        if self.has(Point.AFTER_USER_CREATED):
            metadata = self._metadata(Point.AFTER_USER_CREATED, address)
            await self._ask(Point.AFTER_USER_CREATED, UserCreation(metadata, user_shown(user)), Nothing)

    async def custom_access_token(
        self, user_id: UUID, claims: Shown, method: str, address: str
    ) -> dict[str, object]:
        """Give the claims to sign: those given, or those the project wants instead. Raises: AuthError."""
        point = Point.CUSTOM_ACCESS_TOKEN
        if not self.has(point):
            return claims
        question = AccessToken(self._metadata(point, address), str(user_id), claims, method)
        wanted = (await self._ask(point, question, NewClaims)).claims
        faults = faults_of_hook(wanted)
        if faults:
            listed = ", ".join(faults)
            raise self._failed(point, f"output claims do not conform to the expected schema: {listed}")
        return wanted

    async def send_email(self, user: User, data: EmailData, address: str) -> None:
        """Have a mail sent; only where `has(Point.SEND_EMAIL)`. Raises: AuthError."""
        metadata = self._metadata(Point.SEND_EMAIL, address)
        await self._ask(Point.SEND_EMAIL, SendEmail(metadata, user_shown(user), data), Nothing)

    async def send_sms(self, user: User, sms: SmsData, address: str) -> None:
        """Have a message sent; only where `has(Point.SEND_SMS)`. Raises: AuthError."""
        metadata = self._metadata(Point.SEND_SMS, address)
        await self._ask(Point.SEND_SMS, SendSms(metadata, user_shown(user), sms), Nothing)

    async def mfa_verification_attempt(
        self, user_id: UUID, factor_id: UUID, factor_type: str, *, is_valid: bool, address: str
    ) -> Decision:
        """Ask what follows from a check of a second factor. Raises: AuthError."""
        point = Point.MFA_VERIFICATION
        if not self.has(point):
            return Decision()
        metadata = self._metadata(point, address)
        question = MfaAttempt(metadata, str(user_id), str(factor_id), factor_type, is_valid)
        return await self._ask(point, question, Decision)

    async def password_verification_attempt(self, user_id: UUID, *, is_valid: bool, address: str) -> Decision:
        """Ask what follows from a check of a password. Raises: AuthError."""
        point = Point.PASSWORD_VERIFICATION
        if not self.has(point):
            return Decision()
        question = PasswordAttempt(self._metadata(point, address), str(user_id), is_valid)
        return await self._ask(point, question, Decision)

    async def _ask(self, point: Point, question: Question, kind: type[A]) -> A:
        try:
            body = await self.services[point].ask(question.metadata.uuid, msgspec.json.encode(question))
        except AuthError as error:
            observe(HookFailed(point.value, error.code.value, _reason(error)))
            raise
        try:
            return read_answer(body, kind)
        except WrongShape as error:
            raise self._failed(point, str(error)) from None

    @staticmethod
    def _failed(point: Point, reason: str) -> AuthError:
        observe(HookFailed(point.value, Code.UNEXPECTED_FAILURE.value, reason))
        return AuthError(Code.UNEXPECTED_FAILURE, reason)

    def _metadata(self, point: Point, address: str) -> Metadata:
        return Metadata(str(uuid4()), iso(self._now()), point.told, address)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.clock(), UTC)


def sign_customized(claims: Shown, key: SigningKey) -> tuple[str, int]:
    """Sign claims that a hook may have made; give the token and its `exp`.

    Raises: AuthError (500) for claims that no token can hold, such as whole numbers of thousands of digits.
    """
    expires_at = claims["exp"]
    try:
        if isinstance(expires_at, int):
            return sign(claims, key), expires_at
    except (TypeError, ValueError, RecursionError):
        pass
    raise AuthError(Code.UNEXPECTED_FAILURE, "The claims that the hook gave cannot be signed")


def _reason(error: AuthError) -> str:
    """Say what went wrong without the words of a function, which may hold values of the request."""
    return f"SQLSTATE {error.sqlstate}" if isinstance(error, RaisedError | FunctionFailed) else error.message


def _candidate(new: NewUser, now: datetime) -> User:
    """Give an account as it will be, but for what the database adds."""
    return User(
        id=new.id,
        aud=new.aud,
        role=new.role,
        email=new.email or None,
        phone=new.phone or None,
        email_confirmed_at=new.email_confirmed_at,
        phone_confirmed_at=new.phone_confirmed_at,
        raw_app_meta_data=new.app_metadata,
        raw_user_meta_data=new.user_metadata,
        created_at=now,
        updated_at=now,
        banned_until=new.banned_until,
        is_anonymous=new.is_anonymous,
    )
