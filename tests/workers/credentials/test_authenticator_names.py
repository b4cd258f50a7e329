"""A passkey is named after what made it."""

from uuid import UUID

import pytest

from workers.credentials.authenticator_names import authenticator_name


@pytest.mark.parametrize(
    ("aaguid", "name"),
    [
        ("FBFC3007-154E-4ECC-8C0B-6E020557D7BD", "iCloud Keychain"),
        ("bada5566-a7aa-401f-bd96-45619a55120d", "1Password"),
        ("00000000-0000-0000-0000-000000000000", "Passkey"),
        ("12345678-1234-1234-1234-123456789012", "Passkey"),
    ],
)
def test_known_models_have_their_name(aaguid: str, name: str):
    assert authenticator_name(UUID(aaguid)) == name
