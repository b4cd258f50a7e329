"""The context of an endpoint: everything (`model/context.py` lists the contexts)."""

from collections.abc import Mapping
from dataclasses import dataclass

from workers.auth.federation.context import FederationContext
from workers.auth.model.redirects.allow_list import RedirectRules


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointContext(FederationContext):
    """A `FederationContext` with the redirect allow list and the published keys."""

    public_keys: tuple[Mapping[str, object], ...] = ()
    """The JWKs that verify access tokens, as `/.well-known/jwks.json` publishes them."""
    redirects: RedirectRules
    """Which URLs browsers may be redirected to."""
