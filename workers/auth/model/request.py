"""A request as endpoints of the accounts read it: body, query, who calls, from where. Pure.

Source: reference page "auth", sections 1.1, 1.3 and 1.4.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec
import orjson

from schemas.caller import Anonymous, Service
from schemas.http import Request, Response, header
from workers.auth.accounts.sessions.bearer import Bearer, bearer_claims, parse_bearer, refuse_unless_admin
from workers.auth.accounts.sessions.sessions import Device
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError

T = TypeVar("T")

JSON = ("content-type", "application/json; charset=utf-8")
_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 1000
_PUBLIC, _SERVICE = {"role": "anon"}, {"role": "service_role"}
_OPAQUE = "sb_"
"""How keys begin that are no tokens."""
_object = msgspec.json.Decoder(dict[str, object])


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `parameters` are the named segments of its path."""

    request: Request
    body: bytes
    parameters: Mapping[str, str]

    def read(self, kind: type[T]) -> T:
        """Read the body as a struct; nothing is an empty object, a null is as if it were not given, and a form is an
        object of texts.

        Raises: AuthError (400) for what is no JSON, or of another shape.
        """
        try:
            if self._is_form:
                fields = dict(self._fields(self.body.decode("utf-8", "replace")))
                return msgspec.convert(fields, kind, strict=False)
            given = _object.decode(self.body or b"{}")
            return msgspec.convert({key: value for key, value in given.items() if value is not None}, kind)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            reason = str(error) if isinstance(error, msgspec.DecodeError) else "it cannot be read"
            raise rejections.BAD_JSON(reason=reason) from None

    def query(self, name: str) -> str:
        """Give the first value of a parameter, of the query or of a form; empty without one.

        Raises: AuthError (400) for a value that the database cannot hold.
        """
        texts = [self.request.query]
        if self._is_form:
            texts.append(self.body.decode("utf-8", "replace"))
        for text in texts:
            for key, value in self._fields(text):
                if key == name:
                    if "\0" in value:
                        raise AuthError(Code.VALIDATION_FAILED, f"{name} cannot hold a NUL character")
                    return value
        return ""

    @property
    def bearer(self) -> Bearer:
        """Give who the token speaks for. Raises: AuthError."""
        return parse_bearer(self._claims)

    def refuse_unless_admin(self, roles: list[str]) -> None:
        """Raise if the caller may not use the admin endpoints. Raises: AuthError (401, 403)."""
        is_service = isinstance(self.request.caller, Service)
        refuse_unless_admin(_SERVICE if is_service else self._claims, roles)

    def audience(self, usual: str) -> str:
        """Give the audience of the request."""
        return header(self.request.headers, "x-jwt-aud") or usual

    @property
    def device(self) -> Device:
        """Give from where the request comes."""
        # The door has put the client's address here, whatever the client said of it.
        # An address of the local link names its network card (fe80::1%eth0), which is no part of an inet.
        address = self.request.client.partition("%")[0]
        told = self.request.headers
        return Device(header(told, "user-agent") or "", address, header(told, "x-supabase-session-tag") or "")

    @property
    def _claims(self) -> Mapping[str, object]:
        """Give the claims of the token. Where an opaque key stands in its place, or alone, it is a token of the key's role.

        Raises: AuthError (401, 403).
        """
        caller, headers = self.request.caller, self.request.headers
        scheme, _, token = (header(headers, "authorization") or "").strip().partition(" ")
        is_bearer = scheme in ("Bearer", "bearer")
        sent = token.strip() if is_bearer else "" if scheme else header(headers, "apikey") or ""
        is_opaque = sent.startswith(_OPAQUE)
        if isinstance(caller, Service) and (is_bearer or is_opaque):
            return _SERVICE
        if isinstance(caller, Anonymous) and is_opaque:
            return _PUBLIC
        return bearer_claims(caller)

    @property
    def _is_form(self) -> bool:
        return (header(self.request.headers, "content-type") or "").partition(";")[0].strip().lower() == _FORM

    @staticmethod
    def _fields(text: str) -> list[tuple[str, str]]:
        try:
            return parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            raise rejections.BAD_JSON(reason="there are too many fields") from None


def answer(value: object, status: int = 200, *headers: tuple[str, str]) -> Response:
    """Give a JSON answer that nobody keeps."""
    return Response(status, [JSON, ("cache-control", "no-store"), *headers], orjson.dumps(value))
