import json
import subprocess
import sys

from schemas.keys.signing import read_signing_key
from schemas.settings.dotenv import parse_dotenv
from schemas.settings.reading import load_settings
from schemas.settings.tree import DEVELOPMENT_JWT_SECRET
from services.supervisor.exposure import development_secrets
from tests.services.cli.conftest import DEADLINE_S, ROOT


def test_random_keys_can_be_read_as_settings(project_folder):
    values, warnings = parse_dotenv(project_folder.run("keys").stdout)
    settings, told = load_settings(environment=values)

    assert warnings == []
    assert told == []
    assert development_secrets(settings) == []
    assert settings.auth.jwt_secret.reveal() == values["HEADWATER_AUTH_JWT_SECRET"]


def test_two_runs_make_different_keys(project_folder):
    assert project_folder.run("keys").stdout != project_folder.run("keys").stdout


def test_development_keys_are_the_published_ones(project_folder):
    values = json.loads(project_folder.run("keys", "--development", "-o", "json").stdout)

    assert values["HEADWATER_AUTH_JWT_SECRET"] == DEVELOPMENT_JWT_SECRET
    assert values["HEADWATER_DB_PASSWORD"] == "postgres"


def test_signing_keys_are_a_list_with_one_private_key_that_signs(project_folder):
    [key] = json.loads(project_folder.run("keys", "--signing").stdout)

    assert (key["alg"], key["use"], key["key_ops"]) == ("ES256", "sig", ["sign", "verify"])
    assert key["kid"]
    assert read_signing_key(json.dumps([key])).id == key["kid"]


def test_two_runs_make_different_signing_keys(project_folder):
    assert project_folder.run("keys", "--signing").stdout != project_folder.run("keys", "--signing").stdout


def test_no_signing_key_is_a_published_one(project_folder):
    done = project_folder.run("keys", "--signing", "--development")

    assert done.returncode == 2
    assert "exclude one another" in done.stderr


def test_other_commands_do_not_load_cryptography(project_folder):
    code = "import sys, services.cli.main; print('cryptography' in sys.modules, 'jwt' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S
    )

    assert done.stdout.split() == ["False", "False"]


def test_random_keys_have_a_pair_for_s3_and_published_ones_none(project_folder):
    made, _ = load_settings(environment=json.loads(project_folder.run("keys", "-o", "json").stdout))
    published = json.loads(project_folder.run("keys", "--development", "-o", "json").stdout)

    assert len(made.storage.s3_protocol.access_key_id.reveal()) == 32
    assert len(made.storage.s3_protocol.secret_access_key.reveal()) == 64
    assert not [name for name in published if "S3" in name]
