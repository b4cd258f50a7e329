"""What anybody may know: health, which ways in are open, the public keys. Source: reference "auth", 1.3, 2.5, 3.2."""

from importlib import metadata

from schemas.http import Response
from workers.auth.context import Accounts
from workers.auth.model.request import Asked, answer

_PROVIDERS = (
    "apple", "azure", "bitbucket", "discord", "facebook", "snapchat", "figma", "fly", "github", "gitlab", "google",
    "keycloak", "kakao", "linkedin", "linkedin_oidc", "notion", "spotify", "slack", "slack_oidc", "workos", "twitch",
    "twitter", "x", "zoom",
)  # fmt: skip


async def health(accounts: Accounts, asked: Asked) -> Response:
    """Tell that the service is there."""
    del accounts, asked
    try:
        version = metadata.version("headwater")
    except metadata.PackageNotFoundError:  # run from its source folder
        version = "of a source folder"
    return answer({"version": version, "name": "Headwater Auth", "description": "Accounts and sessions"})


async def settings(accounts: Accounts, asked: Asked) -> Response:
    """Tell which ways in are open."""
    del asked
    own = accounts.settings
    external: dict[str, bool] = {"anonymous_users": own.enable_anonymous_sign_ins}
    external |= {name: getattr(own.external, name).enabled for name in _PROVIDERS}
    external |= {"email": own.email.enable_signup, "phone": own.sms.enable_signup}
    return answer(
        {
            "external": external,
            "disable_signup": not own.enable_signup,
            "mailer_autoconfirm": not own.email.enable_confirmations,
            "phone_autoconfirm": not own.sms.enable_confirmations,
            "sms_provider": own.sms.sender or "",
            "saml_enabled": own.saml.enabled,
            "saml_private_key_next_configured": bool(own.saml.private_key_next),
            "passkeys_enabled": own.passkey.enabled,
        }
    )


async def jwks(accounts: Accounts, asked: Asked) -> Response:
    """Give the public keys that verify access tokens."""
    del asked
    response = answer({"keys": accounts.public_keys})
    response.headers[1] = ("cache-control", "public, max-age=600")
    return response
