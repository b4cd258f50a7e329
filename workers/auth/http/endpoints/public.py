"""Public endpoints: health, enabled sign-in methods, public keys. Source: docs/reference/auth.md, sections 1.3, 2.5 and 3.2."""

from importlib import metadata

from schemas.http import Response
from workers.auth.http.context import EndpointContext
from workers.auth.model.request import AuthRequest, json_response

_PROVIDERS = (
    "apple", "azure", "bitbucket", "discord", "facebook", "snapchat", "figma", "fly", "github", "gitlab", "google",
    "keycloak", "kakao", "linkedin", "linkedin_oidc", "notion", "spotify", "slack", "slack_oidc", "workos", "twitch",
    "twitter", "x", "zoom",
)  # fmt: skip


async def health(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the name and version of the service."""
    del context, request
    try:
        version = metadata.version("headwater")
    except metadata.PackageNotFoundError:  # run from its source folder
        version = "of a source folder"
    return json_response(
        {"version": version, "name": "Headwater Auth", "description": "Accounts and sessions"}
    )


async def settings(context: EndpointContext, request: AuthRequest) -> Response:
    """Return which sign-in methods are enabled."""
    del request
    config = context.settings
    external: dict[str, bool] = {"anonymous_users": config.enable_anonymous_sign_ins}
    external |= {name: getattr(config.external, name).enabled for name in _PROVIDERS}
    external |= {"email": config.email.enable_signup, "phone": config.sms.enable_signup}
    return json_response(
        {
            "external": external,
            "disable_signup": not config.enable_signup,
            "mailer_autoconfirm": not config.email.enable_confirmations,
            "phone_autoconfirm": not config.sms.enable_confirmations,
            "sms_provider": config.sms.sender or "",
            "saml_enabled": config.saml.enabled,
            "saml_private_key_next_configured": bool(config.saml.private_key_next),
            "passkeys_enabled": config.passkey.enabled,
        }
    )


async def jwks(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the public keys that verify access tokens."""
    del request
    response = json_response({"keys": context.public_keys})
    response.headers[1] = ("cache-control", "public, max-age=600")
    return response
