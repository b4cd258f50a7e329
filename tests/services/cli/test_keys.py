import json

from schemas.settings import DEVELOPMENT_JWT_SECRET
from schemas.settings_reading import load_settings
from services.supervisor.dotenv import parse_dotenv
from services.supervisor.exposure import development_secrets


def test_random_keys_can_be_read_as_settings(place):
    values, warnings = parse_dotenv(place.run("keys").stdout)
    settings, told = load_settings(environment=values)

    assert warnings == []
    assert told == []
    assert development_secrets(settings) == []
    assert settings.auth.jwt_secret.reveal() == values["HEADWATER_AUTH_JWT_SECRET"]


def test_two_runs_make_different_keys(place):
    assert place.run("keys").stdout != place.run("keys").stdout


def test_development_keys_are_the_published_ones(place):
    values = json.loads(place.run("keys", "--development", "-o", "json").stdout)

    assert values["HEADWATER_AUTH_JWT_SECRET"] == DEVELOPMENT_JWT_SECRET
    assert values["HEADWATER_DB_PASSWORD"] == "postgres"
