"""Calls hooks: builds the payload, calls the target, parses the answer.

Call these functions outside the transaction of a request, because an answer may take seconds; only `send_email` and
`send_sms` run within one (`email/outbox.py`). Without a hook they do nothing. Source: docs/reference/auth.md, section 17.
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
from workers.auth.delivery.hooks.in_database import HookFunctionFailed
from workers.auth.delivery.hooks.points import (
    A,
    AccessToken,
    EmailData,
    EmptyAnswer,
    HookDecision,
    HookMetadata,
    HookPayload,
    HookPoint,
    MfaVerification,
    NewClaims,
    PasswordVerification,
    SendEmail,
    SendSms,
    SmsData,
    UserCreation,
    WrongShape,
    read_answer,
)
from workers.auth.delivery.hooks.targets import HookTarget
from workers.auth.model.claims import faults_of_hook
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError, ProjectSqlError
from workers.auth.model.rows import AuthUser, NewUser
from workers.auth.model.times import iso
from workers.auth.model.user_json import JsonObject, user_json
from workers.database.transactions.interactive import Transaction


class HookFailed(Observation, frozen=True):
    """A hook failed, or its answer is not valid."""

    level: ClassVar[str] = "warning"
    hook: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class HookRunner:
    """The hooks of the project. `address` is always the IP address of the client."""

    services: Mapping[HookPoint, HookTarget] = field(default_factory=dict)
    clock: Callable[[], float] = time.time

    def has(self, point: HookPoint) -> bool:
        """Return whether a point has a hook."""
        return point in self.services

    async def before_user_created(self, new: NewUser, address: str) -> None:
        """Ask whether an account may be created, before anything is written. Raises: AuthError."""
        if self.has(HookPoint.BEFORE_USER_CREATED):
            metadata = self._metadata(HookPoint.BEFORE_USER_CREATED, address)
            payload = UserCreation(metadata, user_json(_candidate(new, self._now())))
            await self._ask(HookPoint.BEFORE_USER_CREATED, payload, EmptyAnswer)

    async def after_user_created(self, user: AuthUser, address: str) -> None:
        """Report an account that was created, after the commit. Raises: AuthError."""
        if self.has(HookPoint.AFTER_USER_CREATED):
            metadata = self._metadata(HookPoint.AFTER_USER_CREATED, address)
            await self._ask(
                HookPoint.AFTER_USER_CREATED, UserCreation(metadata, user_json(user)), EmptyAnswer
            )

    async def custom_access_token(
        self, user_id: UUID, claims: JsonObject, method: str, address: str
    ) -> dict[str, object]:
        """Return the claims to sign: the argument, or those of the hook's answer. Raises: AuthError."""
        point = HookPoint.CUSTOM_ACCESS_TOKEN
        if not self.has(point):
            return claims
        payload = AccessToken(self._metadata(point, address), str(user_id), claims, method)
        new_claims = (await self._ask(point, payload, NewClaims)).claims
        faults = faults_of_hook(new_claims)
        if faults:
            listed = ", ".join(faults)
            raise self._failed(point, f"output claims do not conform to the expected schema: {listed}")
        return new_claims

    async def send_email(
        self, user: AuthUser, data: EmailData, address: str, transaction: Transaction | None = None
    ) -> None:
        """Send an email by the hook; only if `has(HookPoint.SEND_EMAIL)`. Raises: AuthError."""
        metadata = self._metadata(HookPoint.SEND_EMAIL, address)
        payload = SendEmail(metadata, user_json(user), data)
        await self._ask(HookPoint.SEND_EMAIL, payload, EmptyAnswer, transaction)

    async def send_sms(
        self, user: AuthUser, sms: SmsData, address: str, transaction: Transaction | None = None
    ) -> None:
        """Send a text message by the hook; only if `has(HookPoint.SEND_SMS)`. Raises: AuthError."""
        metadata = self._metadata(HookPoint.SEND_SMS, address)
        payload = SendSms(metadata, user_json(user), sms)
        await self._ask(HookPoint.SEND_SMS, payload, EmptyAnswer, transaction)

    async def mfa_verification_attempt(
        self, user_id: UUID, factor_id: UUID, factor_type: str, *, is_valid: bool, address: str
    ) -> HookDecision:
        """Return the hook's decision about a checked second factor. Raises: AuthError."""
        point = HookPoint.MFA_VERIFICATION
        if not self.has(point):
            return HookDecision()
        metadata = self._metadata(point, address)
        payload = MfaVerification(metadata, str(user_id), str(factor_id), factor_type, is_valid)
        return await self._ask(point, payload, HookDecision)

    async def password_verification_attempt(
        self, user_id: UUID, *, is_valid: bool, address: str
    ) -> HookDecision:
        """Return the hook's decision about a checked password. Raises: AuthError."""
        point = HookPoint.PASSWORD_VERIFICATION
        if not self.has(point):
            return HookDecision()
        payload = PasswordVerification(self._metadata(point, address), str(user_id), is_valid)
        return await self._ask(point, payload, HookDecision)

    async def _ask(
        self, point: HookPoint, payload: HookPayload, kind: type[A], transaction: Transaction | None = None
    ) -> A:
        try:
            id, body = payload.metadata.uuid, msgspec.json.encode(payload)
            body = await self.services[point].ask(id, body, transaction)
        except AuthError as error:
            observe(HookFailed(point.value, error.code.value, _reason(error)))
            raise
        try:
            return read_answer(body, kind)
        except WrongShape as error:
            raise self._failed(point, str(error)) from None

    @staticmethod
    def _failed(point: HookPoint, reason: str) -> AuthError:
        observe(HookFailed(point.value, ErrorCode.UNEXPECTED_FAILURE.value, reason))
        return AuthError(ErrorCode.UNEXPECTED_FAILURE, reason)

    def _metadata(self, point: HookPoint, address: str) -> HookMetadata:
        return HookMetadata(str(uuid4()), iso(self._now()), point.payload_name, address)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.clock(), UTC)


def sign_customized(claims: JsonObject, key: SigningKey) -> tuple[str, int]:
    """Sign claims that a hook may have changed. Return the token and its `exp`.

    Raises: AuthError (500) for claims that JSON cannot hold, such as integers of thousands of digits.
    """
    expires_at = claims["exp"]
    try:
        if isinstance(expires_at, int):
            return sign(claims, key), expires_at
    except (TypeError, ValueError, RecursionError):
        pass
    raise AuthError(ErrorCode.UNEXPECTED_FAILURE, "The claims that the hook gave cannot be signed")


def _reason(error: AuthError) -> str:
    """Return the reason without the message of a SQL function, which may hold values of the request."""
    return (
        f"SQLSTATE {error.sqlstate}"
        if isinstance(error, ProjectSqlError | HookFunctionFailed)
        else error.message
    )


def _candidate(new: NewUser, now: datetime) -> AuthUser:
    """Return the account that will be created, without what the database adds."""
    return AuthUser(
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
