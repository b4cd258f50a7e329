"""[auth.external] and related sections: sign-in by other services, and of other services by this one.

Source: docs/reference/auth.md, sections 11, 13 to 15, 25 and 26.
"""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.types import Amount, Duration, Rate


class ProviderSettings(Struct, frozen=True):
    """[auth.external.<provider>]: one service whose users may sign in here."""

    enabled: bool = False
    client_id: str = ""
    """Several, comma separated: the first is used for sign-in by the browser, all are accepted as audiences of ID tokens."""
    secret: Secret | None = None
    redirect_uri: str = ""
    """Empty: `/callback` on the external URL."""
    url: str = ""
    """Address of the service if it is not the public one: own GitLab, GitHub Enterprise, Azure tenant, Keycloak realm."""
    skip_nonce_check: bool = False
    """Accept ID tokens whose nonce the client did not generate."""
    email_optional: bool = False
    """Accept users without an e-mail address."""

    @property
    def client_ids(self) -> tuple[str, ...]:
        """The client ids, first the one for sign-in by the browser."""
        return tuple(part.strip() for part in self.client_id.split(",") if part.strip())


class External(Struct, frozen=True):
    """[auth.external]."""

    apple: ProviderSettings = field(default_factory=ProviderSettings)
    azure: ProviderSettings = field(default_factory=ProviderSettings)
    bitbucket: ProviderSettings = field(default_factory=ProviderSettings)
    discord: ProviderSettings = field(default_factory=ProviderSettings)
    facebook: ProviderSettings = field(default_factory=ProviderSettings)
    figma: ProviderSettings = field(default_factory=ProviderSettings)
    fly: ProviderSettings = field(default_factory=ProviderSettings)
    github: ProviderSettings = field(default_factory=ProviderSettings)
    gitlab: ProviderSettings = field(default_factory=ProviderSettings)
    google: ProviderSettings = field(default_factory=ProviderSettings)
    kakao: ProviderSettings = field(default_factory=ProviderSettings)
    keycloak: ProviderSettings = field(default_factory=ProviderSettings)
    linkedin: ProviderSettings = field(default_factory=ProviderSettings)
    linkedin_oidc: ProviderSettings = field(default_factory=ProviderSettings)
    notion: ProviderSettings = field(default_factory=ProviderSettings)
    slack: ProviderSettings = field(default_factory=ProviderSettings)
    slack_oidc: ProviderSettings = field(default_factory=ProviderSettings)
    snapchat: ProviderSettings = field(default_factory=ProviderSettings)
    spotify: ProviderSettings = field(default_factory=ProviderSettings)
    twitch: ProviderSettings = field(default_factory=ProviderSettings)
    twitter: ProviderSettings = field(default_factory=ProviderSettings)
    vercel_marketplace: ProviderSettings = field(default_factory=ProviderSettings)
    workos: ProviderSettings = field(default_factory=ProviderSettings)
    x: ProviderSettings = field(default_factory=ProviderSettings)
    zoom: ProviderSettings = field(default_factory=ProviderSettings)

    def enabled(self) -> dict[str, ProviderSettings]:
        """Return the enabled providers by their names."""
        named = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: provider for name, provider in named.items() if provider.enabled}


class CustomOAuth(Struct, frozen=True):
    """[auth.custom_oauth]: providers that an administrator adds while the platform runs."""

    enabled: bool = True
    max_providers: Amount = 0
    """0: unlimited."""
    allow_private_hosts: bool = False
    """Allow private and loopback addresses: for services of your own network."""


class WalletChain(Struct, frozen=True):
    """[auth.web3.<chain>]: sign-in with a wallet."""

    enabled: bool = False
    maximum_validity_duration: Duration = Duration(600)
    """How old, or how far ahead, the time of a signed message may be."""


class Web3(Struct, frozen=True):
    """[auth.web3]."""

    solana: WalletChain = field(default_factory=WalletChain)
    ethereum: WalletChain = field(default_factory=WalletChain)


class SamlSettings(Struct, frozen=True):
    """[auth.saml]: enterprise single sign-on."""

    enabled: bool = False
    private_key: Secret | None = None
    """RSA key of 2048 bits or more: PKCS#1 DER in base64."""
    private_key_next: Secret | None = None
    """The key that comes next: published, and tried for decryption."""
    allow_encrypted_assertions: bool = False
    relay_state_validity_period: Duration = Duration(120)
    external_url: str = ""
    """Empty: `auth.external_url`."""
    rate_limit_assertion: Rate = 15.0
    """Responses of identity providers in 5 minutes from one client address; 0 lifts the limit."""


class Scim(Struct, frozen=True):
    """[auth.scim]: what provisioning services may read (SCIM 2.0)."""

    enabled: bool = False


class OAuthServer(Struct, frozen=True):
    """[auth.oauth_server]: sign-in to other applications with accounts of this service (OAuth 2.1, OpenID Connect)."""

    enabled: bool = False
    authorization_url_path: str = ""
    """Path on the site URL of the page that asks for the user's consent; without it /oauth/authorize answers with an error."""
    allow_dynamic_registration: bool = False
    """Clients may register themselves."""
    authorization_ttl: Duration = Duration(600)
    default_scope: str = "email"


class Firebase(Struct, frozen=True):
    """[auth.third_party.firebase]."""

    enabled: bool = False
    project_id: str = ""


class Auth0(Struct, frozen=True):
    """[auth.third_party.auth0]."""

    enabled: bool = False
    tenant: str = ""
    tenant_region: str = ""


class AwsCognito(Struct, frozen=True):
    """[auth.third_party.aws_cognito]."""

    enabled: bool = False
    user_pool_id: str = ""
    user_pool_region: str = ""


class Clerk(Struct, frozen=True):
    """[auth.third_party.clerk]."""

    enabled: bool = False
    domain: str = ""


class WorkOs(Struct, frozen=True):
    """[auth.third_party.workos]."""

    enabled: bool = False
    issuer_url: str = ""


class ThirdParty(Struct, frozen=True):
    """[auth.third_party]: issuers whose access tokens the data interfaces accept."""

    firebase: Firebase = field(default_factory=Firebase)
    auth0: Auth0 = field(default_factory=Auth0)
    aws_cognito: AwsCognito = field(default_factory=AwsCognito)
    clerk: Clerk = field(default_factory=Clerk)
    workos: WorkOs = field(default_factory=WorkOs)
