"""The doorkeeper: what the gateway knows of keys, and who a request says to come from."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from schemas.caller import Anonymous, Caller, Refusal, Rejected
from schemas.keys.token_keys import Issuer, KeySet
from schemas.keys.tokens import Verifier
from services.gateway.routes import Route
from services.middleware.apikey import (
    UNKNOWN,
    Keys,
    bare,
    bearer,
    identify,
    identify_by_token,
    spelled_usually,
)


async def _learn_nothing(issuer: str) -> bool:
    del issuer
    return False


@dataclass(slots=True)
class Doorkeeper:
    """The API keys, and the verifiers of tokens by area."""

    keys: Keys
    platform: Verifier
    """Of our own tokens only: API keys, and areas that need one of our users."""
    data: Verifier
    """Of the data interfaces (REST, GraphQL), which may have a secret of their own and take foreign issuers."""
    objects: Verifier
    """Of the other areas that take foreign issuers (storage, realtime)."""
    data_has_own_secret: bool = False
    learn: Callable[[str], Awaitable[bool]] = field(default=_learn_nothing)
    """Asked for new keys of an issuer (the empty text is ours); tells whether there are any."""

    def caller(self, route: Route, key: str | None, authorization: str | None, now: float) -> Caller:
        """Identify the caller. Raises: KeyRefused."""
        verifier = self._verifier(route.area)
        if route.area == "functions":
            return self._function_caller(key, authorization, verifier, now)
        if route.area == "storage":
            authorization = spelled_usually(authorization)
        if route.methods and key and self.keys.holder(bare(key), now) is None:
            key = None  # what is open to everybody is so to who sends a wrong key, too
        if route.takes_token and not key:
            return identify_by_token(authorization, self.keys, verifier, now)
        if not route.needs_key and not key:
            token = bearer(authorization)
            return Anonymous() if token is None else verifier.verify(token, now)
        return identify(key, authorization, self.keys, verifier, now)

    async def second_look(
        self, route: Route, key: str | None, authorization: str | None, now: float, refused: Rejected
    ) -> Caller:
        """Identify a caller whose token was refused once more, if keys were learnt that may have signed it."""
        if refused.kind is not Refusal.UNDECODABLE:
            return refused
        spelled = spelled_usually(authorization) if route.area == "storage" else authorization
        issuer = self._verifier(route.area).lacking(bearer(spelled) or "")
        if issuer is None or not await self.learn(issuer):
            return refused
        return self.caller(route, key, authorization, now)

    def use(self, keys: KeySet) -> None:
        """Verify our own tokens with these keys from now on."""
        self.platform.use(keys)
        self.objects.use(keys)
        if self.data_has_own_secret:
            self.data.forget()
        else:
            self.data.use(keys)

    def trust(self, issuers: Mapping[str, Issuer]) -> None:
        """Take the tokens of these issuers from now on, where they are taken at all."""
        self.data.trust(issuers)
        self.objects.trust(issuers)

    def _function_caller(
        self, key: str | None, authorization: str | None, verifier: Verifier, now: float
    ) -> Caller:
        """Say who calls a function; the pool decides what that is worth. A key is no condition, and none is refused here.

        A token counts before a key. An opaque key may stand where the token should. Other schemes are the function's.
        """
        token = bearer(authorization)
        if token is not None:
            return verifier.verify(token, now)
        opaque = (authorization or "").strip().partition(" ")[2].strip()
        if authorization and not opaque.startswith("sb_"):
            return Anonymous()
        shown = key or opaque
        if not shown:
            return Anonymous()
        return self.keys.holder(shown, now) or Rejected(Refusal.UNDECODABLE, UNKNOWN[0])

    def _verifier(self, area: str) -> Verifier:
        if area in ("rest", "graphql"):
            return self.data
        return self.objects if area in ("storage", "realtime") else self.platform
