"""Whether the tests of the Python client leave a method out: each is named in them, and each runs in both forms."""

from pathlib import Path

import pytest
from supabase_auth import SyncGoTrueClient

from tests.conformance.callers import connect

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

OWN = {"auth.initialize_from_storage", "auth.initialize_from_url", "auth.close"}
"""What other methods of the client call."""


async def test_every_public_method_of_the_accounts_stands_in_a_test() -> None:
    auth = (await connect("sync", "http://127.0.0.1", "a.key.a")).client.auth
    assert isinstance(auth, SyncGoTrueClient)
    parts = {
        "auth": auth,
        "auth.mfa": auth.mfa,
        "admin": auth.admin,
        "admin.mfa": auth.admin.mfa,
        "admin.oauth": auth.admin.oauth,
    }
    offered = {
        f"{part}.{name}" for part, thing in parts.items() for name in dir(thing)
        if not name.startswith("_") and callable(getattr(thing, name))
    }  # fmt: skip
    written = "".join(path.read_text() for path in Path(__file__).parent.glob("*auth*.py"))

    assert len(offered) > 45
    assert sorted(name for name in offered - OWN if f".{name.rpartition('.')[2]}" not in written) == []
