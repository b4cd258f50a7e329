"""No struct or dataclass prints a secret: its class is a `SecretRecord`, has a `repr` of its own, or hides the field."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECRETS = frozenset(
    [
        "password",
        "password_hash",
        "encrypted_password",
        "current_password",
        "token_hash",
        "refresh_token",
        "access_token",
        "id_token",
        "auth_code",
        "code_verifier",
        "client_secret",
        "client_secret_hash",
        "recovery_code",
        "recovery_codes",
        "secret",
        "secrets",
        "jwt_secret",
        "sealing_key",
        "vault_key",
        "account_key",
        "eab_hmac_key",
        "key_secret",
        "chunk_key",
        "service_key",
        "service_role_key",
        "secret_access_key",
        "refresh_token_hmac_key",
        "provider_access_token",
        "provider_refresh_token",
        "invite_token",
        "captcha_token",
        "hashed_token",
        "email_otp",
        "otp_code",
    ]
)
"""Names of fields that hold secrets as text or bytes; values of type `Secret` hide themselves."""
NAMES_OF_ARGUMENTS = "frozenset[str]"
NO_SECRETS = {
    "workers/management/operations/settings.py": {
        "SettingsFragment.secrets"
    },  # the names of secrets that are left out
}
_HAS_NAME = re.compile(rf"^    ({'|'.join(sorted(SECRETS))}):", re.MULTILINE)


def test_no_record_prints_a_secret() -> None:
    printed = {
        f"{path.relative_to(ROOT)}: {name}"
        for folder in ("schemas", "broker", "services", "workers")
        for path in (ROOT / folder).rglob("*.py")
        for name in _printed(path)
    }

    assert printed == set(), "make the class a SecretRecord, or write field(repr=False)"


def _printed(path: Path) -> Iterator[str]:
    source = path.read_text()
    if not _HAS_NAME.search(source):
        return
    known = NO_SECRETS.get(str(path.relative_to(ROOT)), set())
    for definition in ast.walk(ast.parse(source)):
        if isinstance(definition, ast.ClassDef) and not _hides_all(definition):
            for line in definition.body:
                if isinstance(line, ast.AnnAssign) and _is_printed(line):
                    name = f"{definition.name}.{ast.unparse(line.target)}"
                    if name not in known:
                        yield name


def _hides_all(definition: ast.ClassDef) -> bool:
    if any(ast.unparse(base) in ("SecretRecord", "Protocol") for base in definition.bases):
        return True
    if any(isinstance(line, ast.FunctionDef) and line.name == "__repr__" for line in definition.body):
        return True
    decorators = [ast.unparse(decorator) for decorator in definition.decorator_list]
    is_record = bool(definition.bases) or any("dataclass" in text for text in decorators)
    return not is_record or any("repr=False" in text for text in decorators)


def _is_printed(line: ast.AnnAssign) -> bool:
    kind = ast.unparse(line.annotation)
    return (
        ast.unparse(line.target) in SECRETS
        and bool(re.search(r"\b(str|bytes)\b", kind))
        and "Secret" not in kind
        and kind != NAMES_OF_ARGUMENTS
        and (line.value is None or "repr=False" not in ast.unparse(line.value))
    )
