import msgspec
import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import Email
from schemas.settings.tree import Auth, Db, Gateway, Settings
from services.supervisor.errors import StartRefused
from services.supervisor.exposure import check_exposure, development_secrets, exposure_warnings, is_loopback

OWN = Settings(
    auth=Auth(jwt_secret=Secret("x" * 32), publishable_key=Secret("p"), secret_key=Secret("s")),
    db=Db(password=Secret("d")),
)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.9.9.9", "/run/postgres"])
def test_these_hosts_are_reached_from_this_machine_only(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_these_hosts_are_reached_from_elsewhere(host):
    assert not is_loopback(host)


def test_development_secrets_are_fine_on_loopback():
    check_exposure(Settings())


def test_development_secrets_are_refused_elsewhere_by_name():
    with pytest.raises(StartRefused) as refused:
        check_exposure(Settings(gateway=Gateway(host="0.0.0.0")))

    assert "HEADWATER_AUTH_JWT_SECRET" in str(refused.value)
    assert "headwater keys" in str(refused.value)
    assert refused.value.exit_code == 2


def test_one_development_password_is_enough_to_refuse():
    settings = msgspec.structs.replace(OWN, gateway=Gateway(host="0.0.0.0"), db=Db())

    with pytest.raises(StartRefused, match="HEADWATER_DB_PASSWORD"):
        check_exposure(settings)


def test_own_secrets_may_be_exposed():
    check_exposure(msgspec.structs.replace(OWN, gateway=Gateway(host="0.0.0.0")))

    assert development_secrets(OWN) == []


def test_an_outside_database_elsewhere_gets_no_development_password():
    with pytest.raises(StartRefused, match="HEADWATER_DB_PASSWORD"):
        check_exposure(Settings(db=Db(url=Secret("postgresql://owner:pw@db.example.org/app"))))


def test_an_outside_database_on_this_machine_may_have_it():
    check_exposure(Settings(db=Db(url=Secret("postgresql://owner:pw@127.0.0.1:5432/app"))))


def test_sign_ups_without_confirmation_are_warned_of_where_others_can_sign_up():
    [warning] = exposure_warnings(Settings(gateway=Gateway(host="0.0.0.0")))

    assert "auth.email.enable_confirmations" in warning
    assert "0.0.0.0" in warning


def test_confirmed_sign_ups_and_those_of_this_machine_need_no_warning():
    confirmed = Auth(email=Email(enable_confirmations=True))

    assert exposure_warnings(Settings()) == []
    assert exposure_warnings(Settings(gateway=Gateway(host="0.0.0.0"), auth=confirmed)) == []
    assert exposure_warnings(Settings(gateway=Gateway(host="0.0.0.0"), auth=Auth(enable_signup=False))) == []
