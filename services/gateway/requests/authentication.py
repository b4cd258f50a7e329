"""Authentication at the gateway: API key and access token of a request -> `Caller`.

The key decides whether a request passes, the token whose rights it has (`services/middleware/api_keys.py`). Which verifier checks
a token depends on the area: the data interfaces may have a secret of their own, and some areas accept foreign issuers.
A token whose signing key is unknown may have been signed with a new one: the issuer's keys are fetched and it is verified once more.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from schemas.caller import AnonymousCaller, Caller, RejectedCaller, TokenFault
from schemas.keys.token_keys import Issuer, KeySet
from schemas.keys.tokens import Verifier
from services.gateway.requests.routes import GatewayRoute
from services.middleware.api_keys import (
    UNKNOWN,
    ApiKeyRejected,
    GatewayKeys,
    bearer_token,
    identify,
    identify_by_token,
    is_opaque,
    normalized_authorization,
    without_bearer,
)


async def _fetch_no_keys(issuer: str) -> bool:
    del issuer
    return False


async def _no_new_keys() -> bool:
    return False


@dataclass(slots=True)
class Authenticator:
    """The API keys, and the verifiers of tokens by area."""

    keys: GatewayKeys
    platform: Verifier
    """Verifies our own tokens only: API keys, and areas that need one of our users."""
    data: Verifier
    """Verifies tokens of the data interfaces (REST, GraphQL), which may have a secret of their own and accept foreign issuers."""
    objects: Verifier
    """Verifies tokens of the other areas that accept foreign issuers (storage, realtime)."""
    data_has_own_secret: bool = False
    learn: Callable[[str], Awaitable[bool]] = field(default=_fetch_no_keys)
    """Fetches the keys of an issuer (the empty text is ourselves) and returns whether there are new ones."""
    refresh: Callable[[], Awaitable[bool]] = field(default=_no_new_keys)
    """Fetches the API keys that were created and revoked lately, and returns whether they changed. Raises: Unavailable."""

    def caller(self, route: GatewayRoute, key: str | None, authorization: str | None, now: float) -> Caller:
        """Identify the caller. Raises: ApiKeyRejected."""
        verifier = self._verifier(route.area)
        if route.area == "functions":
            return self._function_caller(key, authorization, verifier, now)
        if route.area == "storage":
            authorization = normalized_authorization(authorization)
        if route.methods and key and self.keys.holder(without_bearer(key), now) is None:
            key = None  # public routes ignore an invalid key
        if route.takes_token and not key:
            return identify_by_token(authorization, self.keys, verifier, now)
        if not route.needs_key and not key:
            token = bearer_token(authorization)
            return AnonymousCaller() if token is None else verifier.verify(token, now)
        return identify(key, authorization, self.keys, verifier, now)

    async def authenticate(self, route: GatewayRoute, key: str | None, authorization: str | None) -> Caller:
        """Identify the caller, with new API keys if its key is unknown, and new keys of the token's issuer if its signing key is.

        Raises: ApiKeyRejected; Unavailable while created keys are not known yet.
        """
        now = time.time()
        try:
            caller = self.caller(route, key, authorization, now)
        except ApiKeyRejected:
            if not await self.may_know(key, now):
                raise
            caller = self.caller(route, key, authorization, now)
        if isinstance(caller, RejectedCaller):
            caller = await self.second_look(route, key, authorization, now, caller)
        return caller

    async def may_know(self, key: str | None, now: float) -> bool:
        """Return whether an unknown key is known after the created ones were fetched. Raises: Unavailable."""
        text = without_bearer(key or "")
        return is_opaque(text) and await self.refresh() and self.keys.holder(text, now) is not None

    async def second_look(
        self,
        route: GatewayRoute,
        key: str | None,
        authorization: str | None,
        now: float,
        rejected: RejectedCaller,
    ) -> Caller:
        """Identify a caller whose token was rejected once more, if new keys were fetched that may have signed it."""
        if rejected.message == UNKNOWN[0]:  # of a function, whose key may be sent in the place of the token
            sent = key or (authorization or "").strip().partition(" ")[2].strip()
            return self.caller(route, key, authorization, now) if await self.may_know(sent, now) else rejected
        if rejected.kind is not TokenFault.UNDECODABLE:
            return rejected
        spelled = normalized_authorization(authorization) if route.area == "storage" else authorization
        issuer = self._verifier(route.area).lacking(bearer_token(spelled) or "")
        if issuer is None or not await self.learn(issuer):
            return rejected
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
        """Accept the tokens of these issuers from now on, in the areas that accept foreign issuers."""
        self.data.trust(issuers)
        self.objects.trust(issuers)

    def _function_caller(
        self, key: str | None, authorization: str | None, verifier: Verifier, now: float
    ) -> Caller:
        """Return the caller of a function. No request is rejected here: the pool decides whether the function requires a caller.

        A token wins over a key. An opaque key may take the token's place. Other schemes are left to the function.
        """
        token = bearer_token(authorization)
        if token is not None:
            return verifier.verify(token, now)
        opaque = (authorization or "").strip().partition(" ")[2].strip()
        if authorization and not is_opaque(opaque):
            return AnonymousCaller()
        api_key = key or opaque
        if not api_key:
            return AnonymousCaller()
        return self.keys.holder(api_key, now) or RejectedCaller(TokenFault.UNDECODABLE, UNKNOWN[0])

    def _verifier(self, area: str) -> Verifier:
        if area in ("rest", "graphql"):
            return self.data
        return self.objects if area in ("storage", "realtime", "sync") else self.platform
