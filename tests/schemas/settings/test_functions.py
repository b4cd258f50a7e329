import pytest

from schemas.settings.reading import load_settings
from schemas.settings.tree import SettingsError

FILE = b"""
[edge_runtime]
policy = "oneshot"
inspector_port = 8083
deno_version = 2
[edge_runtime.secrets]
KEY = "env(MY_KEY)"
NUMBER = 7
GONE = "env(NOT_SET)"
[functions.hello]
verify_jwt = false
import_map = "./functions/hello/deno.json"
entrypoint = "./functions/hello/index.ts"
static_files = ["./functions/hello/*.html"]
schedule = "*/5 * * * *"
timeout_s = 7.5
allow_net = ["api.example.com"]
[functions.hello.env]
OWN = "value"
"""


def test_the_official_sections_are_read_with_ours_in_them() -> None:
    settings, warnings = load_settings(FILE, {"MY_KEY": "of the environment"})
    hello = settings.functions["hello"]

    assert settings.edge_runtime.policy == "oneshot"
    assert settings.edge_runtime.secrets["KEY"].reveal() == "of the environment"
    assert settings.edge_runtime.secrets["NUMBER"].reveal() == "7"
    assert (hello.verify_jwt, hello.enabled, hello.timeout_s) == (False, True, 7.5)
    assert hello.env["OWN"].reveal() == "value"
    assert hello.allow_net == ["api.example.com"]
    assert warnings == ["edge_runtime.secrets in config.toml asks for env(NOT_SET), but NOT_SET is not set"]
    assert "of the environment" not in repr(settings)


def test_unknown_keys_of_a_function_are_told() -> None:
    _, warnings = load_settings(b"[functions.a]\nverify_jwtt = false\n", {})

    assert len(warnings) == 1
    assert "functions.a.verify_jwt" in warnings[0]


def test_a_policy_that_is_none_is_refused() -> None:
    with pytest.raises(SettingsError, match="per_worker, oneshot"):
        load_settings(b'[edge_runtime]\npolicy = "sometimes"\n', {})
