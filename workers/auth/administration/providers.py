"""The providers of the settings as administrators see them: whether they can work, and which callback address to register there."""

from workers.auth.federation.providers.registry import FACTORIES, ID_TOKEN_PROVIDERS, client_of, settings_of
from workers.auth.federation.social.protocol import ProviderError
from workers.auth.http.context import EndpointContext

_CALLBACK = "/callback"


def describe_providers(context: EndpointContext) -> list[dict[str, object]]:
    """Return every provider, without secrets."""
    return [_description(context, name) for name in FACTORIES]


def _description(context: EndpointContext, name: str) -> dict[str, object]:
    provider = settings_of(context.settings, name)
    return {
        "name": name,
        "is_enabled": provider.enabled,
        "client_id": provider.client_id,
        "has_secret": bool(provider.secret),
        "url": provider.url,
        "callback_url": provider.redirect_uri or context.settings.external_url.rstrip("/") + _CALLBACK,
        "has_discovery": name in ID_TOKEN_PROVIDERS,
    }


async def check_provider(context: EndpointContext, name: str) -> dict[str, object]:
    """Fetch the discovery documents of a provider, and return whether sign-in can use them, with the reason if not."""
    if name not in FACTORIES:
        return _verdict(False, f"There is no provider {name[:64]!r}")
    provider = settings_of(context.settings, name)
    if provider.enabled and not provider.client_ids:
        return _verdict(False, f"auth.external.{name}.client_id is not set")
    if name not in ID_TOKEN_PROVIDERS:
        return _verdict(
            True, "This provider publishes no discovery document; its first sign-in shows whether it works"
        )
    client = client_of(context, name)
    for signer in ID_TOKEN_PROVIDERS[name](client, "").signers:
        try:
            metadata = await signer.metadata(client)
        except ProviderError as error:
            return _verdict(False, error.description)
        if not metadata.get("jwks_uri"):
            return _verdict(False, f"The discovery document of {signer.issuer} names no keys (jwks_uri)")
    return _verdict(True, "The discovery document can be used")


def _verdict(is_usable: bool, message: str) -> dict[str, object]:
    return {"is_usable": is_usable, "message": message}
