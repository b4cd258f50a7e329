"""[auth.external] and its kin: sign-in by other services, and sign-in of other services by us.

Source: reference page "auth", sections 11, 13 to 15, 25 and 26.
"""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.types import Amount, Duration, Rate


class Provider(Struct, frozen=True):
    """[auth.external.<provider>]: one service whose users may sign in here."""

    enabled: bool = False
    client_id: str = ""
    """Several, comma separated: the first signs in by the browser, all are taken as audiences of ID tokens."""
    secret: Secret | None = None
    redirect_uri: str = ""
    """Empty: `/callback` on the external URL."""
    url: str = ""
    """Where the service lives, if not at its usual place: own GitLab, GitHub Enterprise, Azure tenant, Keycloak realm."""
    skip_nonce_check: bool = False
    """Take ID tokens whose nonce was not made by the client."""
    email_optional: bool = False
    """Take users without an e-mail address."""

    @property
    def client_ids(self) -> tuple[str, ...]:
        """List the client ids, the one of the browser's way first."""
        return tuple(part.strip() for part in self.client_id.split(",") if part.strip())


class External(Struct, frozen=True):
    """[auth.external]."""

    apple: Provider = field(default_factory=Provider)
    azure: Provider = field(default_factory=Provider)
    bitbucket: Provider = field(default_factory=Provider)
    discord: Provider = field(default_factory=Provider)
    facebook: Provider = field(default_factory=Provider)
    figma: Provider = field(default_factory=Provider)
    fly: Provider = field(default_factory=Provider)
    github: Provider = field(default_factory=Provider)
    gitlab: Provider = field(default_factory=Provider)
    google: Provider = field(default_factory=Provider)
    kakao: Provider = field(default_factory=Provider)
    keycloak: Provider = field(default_factory=Provider)
    linkedin: Provider = field(default_factory=Provider)
    linkedin_oidc: Provider = field(default_factory=Provider)
    notion: Provider = field(default_factory=Provider)
    slack: Provider = field(default_factory=Provider)
    slack_oidc: Provider = field(default_factory=Provider)
    snapchat: Provider = field(default_factory=Provider)
    spotify: Provider = field(default_factory=Provider)
    twitch: Provider = field(default_factory=Provider)
    twitter: Provider = field(default_factory=Provider)
    vercel_marketplace: Provider = field(default_factory=Provider)
    workos: Provider = field(default_factory=Provider)
    x: Provider = field(default_factory=Provider)
    zoom: Provider = field(default_factory=Provider)

    def enabled(self) -> dict[str, Provider]:
        """Give the providers that are enabled, by their names."""
        named = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: provider for name, provider in named.items() if provider.enabled}


class CustomOAuth(Struct, frozen=True):
    """[auth.custom_oauth]: providers that an administrator adds while the platform runs."""

    enabled: bool = True
    max_providers: Amount = 0
    """0 is no limit."""
    allow_private_hosts: bool = False
    """Let them live at private and loopback addresses: for services of one's own network."""


class Chain(Struct, frozen=True):
    """[auth.web3.<chain>]: sign-in with a wallet."""

    enabled: bool = False
    maximum_validity_duration: Duration = Duration(600)
    """How old, or how far ahead, the time of a signed message may be."""


class Web3(Struct, frozen=True):
    """[auth.web3]."""

    solana: Chain = field(default_factory=Chain)
    ethereum: Chain = field(default_factory=Chain)


class Saml(Struct, frozen=True):
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
    """Answers of identity providers in 5 minutes of one client address; 0 lifts the limit."""


class Scim(Struct, frozen=True):
    """[auth.scim]: what provisioning services may read of this one (SCIM 2.0)."""

    enabled: bool = False


class OAuthServer(Struct, frozen=True):
    """[auth.oauth_server]: sign-in of other applications by our accounts (OAuth 2.1, OpenID Connect)."""

    enabled: bool = False
    authorization_url_path: str = ""
    """Path on the site URL of the page that asks the user's consent."""
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
    """[auth.third_party]: issuers whose access tokens the data interfaces take."""

    firebase: Firebase = field(default_factory=Firebase)
    auth0: Auth0 = field(default_factory=Auth0)
    aws_cognito: AwsCognito = field(default_factory=AwsCognito)
    clerk: Clerk = field(default_factory=Clerk)
    workos: WorkOs = field(default_factory=WorkOs)
