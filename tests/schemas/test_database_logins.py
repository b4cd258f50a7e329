import msgspec

from schemas.database_logins import (
    SESSION_LOGINS,
    configured_passwords,
    login_passwords,
    password_variables,
    sharing_logins,
)
from schemas.keys.secret import Secret
from schemas.settings.reading import load_settings
from schemas.settings.tree import Db, Settings


def test_each_login_has_a_variable_that_gives_its_own_password():
    variables = password_variables(Settings())
    settings, warnings = load_settings(b"", {name: f"of {role}" for role, name in variables.items()})

    assert warnings == []
    assert {role: secret.reveal() for role, secret in configured_passwords(settings).items() if secret} == {
        role: f"of {role}" for role in variables
    }
    assert sharing_logins(settings) == []


def test_a_login_without_one_shares_that_of_postgres_and_is_named():
    settings = Settings(
        db=Db(password=Secret("one"), scheduler_password=Secret("two"), authenticator_password=Secret("two"))
    )

    assert login_passwords(settings)["supabase_auth_admin"].matches("one")
    assert sharing_logins(settings) == [
        "authenticator", "supabase_auth_admin", "supabase_storage_admin", "headwater_scheduler", "headwater_management",
        "supabase_replication_admin",
    ]  # fmt: skip


def test_the_data_pools_login_may_bring_its_password_in_the_url():
    settings = Settings(db=Db(url=Secret("postgresql://authenticator:p%40ss@h/d")))
    other = msgspec.structs.replace(settings, db=Db(url=Secret("postgresql://owner:pass@h/d")))

    assert login_passwords(settings)["authenticator"].matches("p@ss")
    assert login_passwords(other)["authenticator"].matches("postgres")


def test_the_logins_of_sessions_have_passwords_of_their_own_derived_from_one():
    passwords = login_passwords(Settings(db=Db(management_password=Secret("one"))))
    others = login_passwords(Settings(db=Db(management_password=Secret("two"))))

    derived = [passwords[login].reveal() for login in SESSION_LOGINS]
    assert len({*derived, *(others[login].reveal() for login in SESSION_LOGINS), "one"}) == 7
