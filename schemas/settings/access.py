"""[access]: what the difference of access of a migration is judged by (docs/access.md)."""

from msgspec import Struct


class AccessSettings(Struct, frozen=True):
    """[access]: which tenant users and rows belong to."""

    tenant_claim: str = ""
    """The claim of an access token that names the user's tenant: `app_metadata.tenant_id`. Users who gain rows of another tenant are an alarm then."""
    tenant_column: str = ""
    """The column of rows with the same value. Unset: the last part of `tenant_claim`. Rows of a table without it belong to the tenants whose users read them before."""
