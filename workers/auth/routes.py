"""Every endpoint of the accounts, one line each. Source: reference page "auth", section 1.5."""

from collections.abc import Awaitable, Callable

from schemas.http import Response
from workers.auth.asked import Asked
from workers.auth.context import Accounts
from workers.auth.endpoints import admin_users, logout, public, signup, token, user
from workers.auth.error_codes import Code
from workers.auth.errors import AuthError
from workers.routing import Route, Router

Endpoint = Callable[[Accounts, Asked], Awaitable[Response]]

ROUTES: tuple[Route[Endpoint], ...] = (
    Route("GET", "/health", public.health),
    Route("GET", "/settings", public.settings),
    Route("GET", "/.well-known/jwks.json", public.jwks),
    Route("POST", "/signup", signup.signup),
    Route("POST", "/token", token.token),
    Route("GET", "/user", user.show),
    Route("PUT", "/user", user.update),
    Route("POST", "/logout", logout.logout),
    Route("GET", "/admin/users", admin_users.listing),
    Route("POST", "/admin/users", admin_users.create),
    Route("GET", "/admin/users/{id}", admin_users.show),
    Route("PUT", "/admin/users/{id}", admin_users.update),
    Route("DELETE", "/admin/users/{id}", admin_users.delete),
)

NOT_BUILT = (
    "GET /.well-known/openid-configuration", "GET /.well-known/oauth-authorization-server", "POST /otp",
    "POST /magiclink", "POST /recover", "POST /resend", "GET /verify", "POST /verify", "GET /reauthenticate",
    "GET /authorize", "GET /callback", "POST /callback", "GET /user/identities/authorize",
    "DELETE /user/identities/{identity_id}", "POST /factors", "POST /factors/{id}/challenge", "POST /factors/{id}/verify",
    "DELETE /factors/{id}", "GET /factors/recovery-codes", "POST /factors/recovery-codes",
    "DELETE /factors/recovery-codes", "POST /factors/recovery-codes/verify", "POST /factors/recovery-codes/regenerate",
    "POST /passkeys/authentication/options", "POST /passkeys/authentication/verify",
    "POST /passkeys/registration/options", "POST /passkeys/registration/verify", "GET /passkeys",
    "PATCH /passkeys/{id}", "DELETE /passkeys/{id}", "POST /sso", "GET /sso/saml/metadata", "POST /sso/saml/acs",
    "POST /oauth/clients/register", "POST /oauth/token", "GET /oauth/userinfo", "GET /oauth/authorize",
    "GET /oauth/authorizations/{id}", "POST /oauth/authorizations/{id}/consent", "GET /user/oauth/grants",
    "DELETE /user/oauth/grants", "POST /invite", "POST /admin/generate_link", "GET /admin/users/{id}/factors",
    "PUT /admin/users/{id}/factors/{factor_id}", "DELETE /admin/users/{id}/factors/{factor_id}",
    "GET /admin/users/{id}/passkeys", "DELETE /admin/users/{id}/passkeys/{passkey_id}", "GET /admin/audit",
    "GET /admin/sso/providers", "POST /admin/sso/providers", "GET /admin/sso/providers/{id}",
    "PUT /admin/sso/providers/{id}", "DELETE /admin/sso/providers/{id}", "GET /admin/oauth/clients",
    "POST /admin/oauth/clients", "GET /admin/oauth/clients/{id}", "PUT /admin/oauth/clients/{id}",
    "DELETE /admin/oauth/clients/{id}", "POST /admin/oauth/clients/{id}/regenerate_secret",
    "GET /admin/custom-providers", "POST /admin/custom-providers", "GET /admin/custom-providers/{id}",
    "PUT /admin/custom-providers/{id}", "DELETE /admin/custom-providers/{id}", "GET /scim/v2/{rest...}",
)  # fmt: skip
"""Endpoints of the reference that answer 501 for now."""


async def _not_built(accounts: Accounts, asked: Asked) -> Response:
    del accounts
    raise AuthError(
        Code.UNEXPECTED_FAILURE,
        f"{asked.request.method} {asked.request.path} is not built yet in this version",
        501,
    )


def _unbuilt(line: str) -> Route[Endpoint]:
    method, _, pattern = line.partition(" ")
    return Route(method, pattern, _not_built)


ROUTER = Router((*ROUTES, *(_unbuilt(line) for line in NOT_BUILT)))
