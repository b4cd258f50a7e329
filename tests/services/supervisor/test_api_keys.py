import re

from schemas.keys.secret import Secret
from schemas.settings.tree import DEVELOPMENT_JWT_SECRET, Auth
from services.supervisor.api_keys import keys_of, legacy_key, random_keys

OPAQUE = r"[A-Za-z0-9_-]{22}_[A-Za-z0-9_-]{8}"


def test_development_anon_key_is_the_one_of_the_official_local_stack():
    signature = legacy_key(DEVELOPMENT_JWT_SECRET, "anon").rpartition(".")[2]

    assert signature == "CRXP1A7WOeoJeXxjNni43kdQwgnWNReilDMblYTn_I0"


def test_a_named_legacy_key_is_taken_as_it_is():
    keys = keys_of(Auth(anon_key=Secret("mine")))

    assert keys.anon_key == "mine"
    assert keys.service_role_key == legacy_key(DEVELOPMENT_JWT_SECRET, "service_role")


def test_random_keys_have_the_official_forms_and_differ():
    one, other = random_keys(), random_keys()

    assert re.fullmatch("sb_publishable_" + OPAQUE, one.publishable_key)
    assert re.fullmatch("sb_secret_" + OPAQUE, one.secret_key)
    assert len(one.jwt_secret) >= 32
    assert one.anon_key == legacy_key(one.jwt_secret, "anon")
    assert one.jwt_secret != other.jwt_secret
    assert one.secret_key != other.secret_key


def test_keys_do_not_show_themselves():
    assert "sb_secret" not in repr(random_keys())
