"""A request as endpoints of auth read it: body, query, bearer token, device. Pure.

Sources: docs/reference/auth.md, sections 1.1, 1.3 and 1.4.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec
import orjson

from schemas.caller import AnonymousCaller, ServiceCaller
from schemas.http import Request, Response, header
from workers.auth.model import rejections
from workers.auth.model.bearer import Bearer, bearer_claims, parse_bearer, require_admin
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError

T = TypeVar("T")

JSON = ("content-type", "application/json; charset=utf-8")
_FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS = 1000
_ANON_CLAIMS, _SERVICE_CLAIMS = {"role": "anon"}, {"role": "service_role"}
_OPAQUE_KEY_PREFIX = "sb_"
"""How API keys begin that are not JWTs."""
_decode_object = msgspec.json.Decoder(dict[str, object]).decode


@dataclass(frozen=True, slots=True)
class Device:
    """Where a request comes from; stored with the session that it starts."""

    user_agent: str = ""
    address: str = ""
    tag: str = ""
    """The kind of device, as the client names it."""


@dataclass(frozen=True)  # without slots: cached_property needs a __dict__
class AuthRequest:
    """One request of an endpoint. `parameters` are the named segments of its path."""

    http: Request
    body: bytes
    parameters: Mapping[str, str]

    def read(self, type: type[T]) -> T:
        """Decode the body as a struct.

        An empty body is an empty object, a member that is null counts as absent, and a form is an object of texts.
        Raises: AuthError (400) if the body is not JSON, or has another shape.
        """
        try:
            if self._is_form:
                fields = dict(self._fields(self._form_text))
                return msgspec.convert(fields, type, strict=False)
            members = _decode_object(self.body or b"{}")
            return msgspec.convert({key: value for key, value in members.items() if value is not None}, type)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            reason = str(error) if isinstance(error, msgspec.DecodeError) else "it cannot be read"
            raise rejections.BAD_JSON(reason=reason) from None

    def query(self, name: str) -> str:
        """Return the first value of a parameter, in the query or else in a form body; empty if it is absent.

        Raises: AuthError (400) for a value with a NUL, which Postgres cannot store.
        """
        value = self._query.get(name, "")
        if "\0" in value:
            raise AuthError(ErrorCode.VALIDATION_FAILED, f"{name} cannot hold a NUL character")
        return value

    @property
    def bearer(self) -> Bearer:
        """Return the user and session that the token names. Raises: AuthError."""
        return parse_bearer(self._claims)

    def require_admin(self, roles: list[str]) -> None:
        """Raise if the caller's role may not use the admin endpoints. Raises: AuthError (401, 403)."""
        is_service = isinstance(self.http.caller, ServiceCaller)
        require_admin(_SERVICE_CLAIMS if is_service else self._claims, roles)

    def audience(self, default: str) -> str:
        """Return the audience that the request names in `X-JWT-AUD`, else the default."""
        return header(self.http.headers, "x-jwt-aud") or default

    @property
    def device(self) -> Device:
        """Return where the request comes from."""
        # The gateway sets the address; a client cannot. A link-local address names its network card (fe80::1%eth0), which
        # the type inet does not take.
        address = self.http.client.partition("%")[0]
        headers = self.http.headers
        return Device(
            header(headers, "user-agent") or "", address, header(headers, "x-supabase-session-tag") or ""
        )

    @cached_property
    def _query(self) -> dict[str, str]:
        """The first value of each parameter, parsed once for all look-ups."""
        texts = [self.http.query, self._form_text] if self._is_form else [self.http.query]
        values: dict[str, str] = {}
        for text in texts:
            for name, value in self._fields(text):
                values.setdefault(name, value)
        return values

    @property
    def _claims(self) -> Mapping[str, object]:
        """Return the claims of the bearer token. An opaque key in its place, or alone, counts as a token of the key's role.

        Raises: AuthError (401, 403).
        """
        caller, headers = self.http.caller, self.http.headers
        scheme, _, token = (header(headers, "authorization") or "").strip().partition(" ")
        is_bearer = scheme in ("Bearer", "bearer")
        credential = token.strip() if is_bearer else "" if scheme else header(headers, "apikey") or ""
        is_opaque = credential.startswith(_OPAQUE_KEY_PREFIX)
        if isinstance(caller, ServiceCaller) and (is_bearer or is_opaque):
            return _SERVICE_CLAIMS
        if isinstance(caller, AnonymousCaller) and is_opaque:
            return _ANON_CLAIMS
        return bearer_claims(caller)

    @property
    def _form_text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def _is_form(self) -> bool:
        """Whether the body is a form. JSON may come under its type: `curl -d '{...}'` sends it by itself."""
        kind = (header(self.http.headers, "content-type") or "").partition(";")[0].strip().lower()
        return kind == _FORM and not self.body.lstrip().startswith(b"{")

    @staticmethod
    def _fields(text: str) -> list[tuple[str, str]]:
        try:
            return parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
        except ValueError:
            raise rejections.BAD_JSON(reason="there are too many fields") from None


def json_response(value: object, status: int = 200, *headers: tuple[str, str]) -> Response:
    """Build a JSON response that caches must not store."""
    try:
        body = orjson.dumps(value)
    except (
        orjson.JSONEncodeError
    ):  # metadata has a number of more than 64 bits; or SQL stored more levels than this encoder follows
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode()
    return Response(status, [JSON, ("cache-control", "no-store"), *headers], body)
