"""Reading of the settings: from defaults, the project's `config.toml` and the environment to the tree.

Order: defaults < `config.toml` < `HEADWATER_...` environment. The sections and keys of `config.toml` are those of the
official project folder (reference page "platform", section 2), so an existing `supabase/config.toml` is read unchanged;
sections that other tools own are known and ignored. The table of a key's environment name is `environment_names()`:
the path in capitals joined by `_`, as `HEADWATER_API_MAX_ROWS`. Unknown keys are told, never fatal; a value that cannot
work is, and the sentence names the key and what it takes, never the value.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from schemas.secret import Secret
from schemas.settings import Settings, SettingsError
from schemas.settings_checks import checked

FOREIGN_SECTIONS = frozenset({
    "realtime", "studio", "inbucket", "local_smtp", "storage", "edge_runtime", "functions", "analytics", "experimental", "remotes",
})  # fmt: skip
"""Sections of the official file that belong to areas which are not built yet, or to other tools: known, not warned about."""

FOREIGN_KEYS = frozenset(
    f"{section}.{key}"
    for section, keys in {
        "db": "network_restrictions vault ssl_enforcement root_key",
        "auth": "enable_refresh_token_rotation refresh_token_reuse_interval enable_signup enable_anonymous_sign_ins"
        " enable_manual_linking minimum_password_length password_requirements rate_limit captcha email sms sessions"
        " hook mfa external web3 third_party oauth_server passkey webauthn",
    }.items()
    for key in keys.split()
)

ENVIRONMENT_PREFIX = "HEADWATER_"
RESERVED_ENVIRONMENT = frozenset(
    {
        "HEADWATER_CONFIG",
        "HEADWATER_DATA",
        "HEADWATER_READY_FD",
        "HEADWATER_PROCESS",
        "HEADWATER_MIGRATE_URL",
    }
)
"""Names the supervisor uses to speak to its children."""

_SUBSTITUTION = re.compile(r"env\((\w+)\)")
_AT = re.compile(r"`\$\.([\w.]+)")
_FORMS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Secret: "a text",
    list: "a list of texts",
    dict: "a table of texts",
}


def load_settings(
    config: bytes = b"", environment: Mapping[str, str] | None = None, *, source: str = "config.toml"
) -> tuple[Settings, list[str]]:
    """Make the settings from the bytes of a `config.toml` and an environment; give them with the warnings.

    `env(NAME)` inside a string of the file is replaced from the environment.
    Raises: SettingsError if the file is no TOML or a value is of the wrong type.
    """
    env = os.environ if environment is None else environment
    known, warnings = _split_unknown(_substituted(_parsed(config, source), env), Settings, "", source)
    names = environment_names()
    for variable, text in env.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in RESERVED_ENVIRONMENT:
            continue
        if variable not in names:
            meant = _nearest(variable, names)
            warnings.append(f"unknown environment variable {variable} is ignored{meant}")
            continue
        path, kind = names[variable]
        _put(known, path, _from_text(text, kind, variable))
    for variable, path in (("DATABASE_URL", ("db", "url")), ("NATS_URL", ("broker", "url"))):
        if env.get(variable):
            _put(known, path, _from_text(env[variable], Secret, variable), keep=True)
    try:
        settings = msgspec.convert(known, Settings, strict=False, dec_hook=_secret)
    except msgspec.ValidationError as error:
        raise SettingsError(_told(error, source)) from None
    return checked(settings, source), warnings


def environment_names() -> dict[str, tuple[tuple[str, ...], Any]]:
    """Give every environment name with the path of its key and the key's type."""
    return {ENVIRONMENT_PREFIX + "_".join(path).upper(): (path, kind) for path, kind in _leaves(Settings, ())}


def _leaves(struct: type[Struct], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, kind in get_type_hints(struct, include_extras=True).items():
        if isinstance(kind, type) and issubclass(kind, Struct):
            yield from _leaves(kind, (*path, name))
        else:
            yield (*path, name), kind


def _parsed(config: bytes, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(config.decode())
    except RecursionError:
        raise SettingsError(f"{source} is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and numbers of too many digits
        raise SettingsError(f"{source} is not valid TOML: {error}") from None


def _split_unknown(
    tree: dict[str, Any], struct: type[Struct], path: str, source: str
) -> tuple[dict[str, Any], list[str]]:
    """Separate the keys we know from those we do not, with a warning for each of the latter.

    Raises: SettingsError for a secret that names a variable which is not set.
    """
    kinds, known, warnings = get_type_hints(struct), {}, []
    for key, value in tree.items():
        where = f"{path}.{key}" if path else key
        kind = kinds.get(key)
        if kind is None:
            if not (where in FOREIGN_KEYS or (not path and key in FOREIGN_SECTIONS)):
                known_here = [f"{path}.{each}" if path else each for each in kinds]
                warnings.append(f"unknown key {where} in {source} is ignored{_nearest(where, known_here)}")
        elif isinstance(kind, type) and issubclass(kind, Struct) and isinstance(value, dict):
            known[key], told = _split_unknown(value, kind, where, source)
            warnings += told
        else:
            known[key] = _texts(value) if get_origin(kind) is dict else value
            if isinstance(value, str) and (unset := _SUBSTITUTION.search(value)):
                told_as = f"{where} in {source} asks for {unset[0]}, but {unset[1]} is not set"
                if Secret in (kind, *get_args(kind)):
                    raise SettingsError(told_as)
                warnings.append(told_as)
    return known, warnings


def _nearest(name: str, known: Iterable[str]) -> str:
    """Name the known name that was meant, if one is near."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    return f"; did you mean {near[0]}?" if near else ""


def _substituted(value: Any, env: Mapping[str, str]) -> Any:
    match value:
        case str():
            return _SUBSTITUTION.sub(lambda found: env.get(found[1], found[0]), value)
        case dict():
            return {key: _substituted(inner, env) for key, inner in value.items()}
        case list():
            return [_substituted(inner, env) for inner in value]
    return value


def _texts(value: Any) -> Any:
    """Spell the numbers and truth values of a table of texts: files may write `max_connections = 100`."""
    if not isinstance(value, dict):
        return value
    return {
        key: str(inner).lower() if isinstance(inner, bool | int | float) else inner
        for key, inner in value.items()
    }


def _from_text(text: str, kind: Any, variable: str) -> Any:
    """Read an environment text: lists as JSON or comma separated, mappings as JSON, the rest as is.

    Raises: SettingsError that names the variable.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SettingsError(f"{variable} is not valid UTF-8") from None
    value: Any = text
    if get_origin(kind) is list and text[:1] not in ("[", "{"):
        value = [part.strip() for part in text.split(",") if part.strip()]
    elif get_origin(kind) in (list, dict):
        try:
            value = _texts(msgspec.json.decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise SettingsError(f"{variable} is not valid JSON; it takes {_form(kind)}") from None
    elif text == "" and NoneType in get_args(kind) and Secret not in get_args(kind):
        value = None
    try:
        msgspec.convert(value, kind, strict=False, dec_hook=_secret)
    except msgspec.ValidationError:
        raise SettingsError(f"{variable} must be {_form(kind)}") from None
    return value


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any, *, keep: bool = False) -> None:
    """Put a value into the tree. What stands where a table should is left for the conversion to refuse."""
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            return
    if not (keep and tree.get(path[-1])):
        tree[path[-1]] = value


def _secret(kind: type, value: Any) -> Any:
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    raise TypeError("not a text")


def _told(error: msgspec.ValidationError, source: str) -> str:
    """Say which key is wrong and what it takes. The library's own words are not shown: they are of its types."""
    found = _AT.search(str(error))
    key = found[1] if found else "the file"
    kinds = {".".join(path): kind for path, kind in _leaves(Settings, ())}
    return f"{source}: {key} must be {_form(kinds.get(key))}"


def _form(kind: Any) -> str:
    """Say in words what a key of this type takes."""
    if get_origin(kind) is Annotated:
        return str(kind.__metadata__[0].description)
    if NoneType in get_args(kind):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    return _FORMS.get(get_origin(kind) or kind, "a table")
