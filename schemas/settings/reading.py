"""Read the settings: defaults, the project's `config.toml` and the environment -> the settings tree.

Order: defaults < `config.toml` < a block `[remotes.NAME]` of it (`remotes.py`) < environment of the official servers (`GOTRUE_...`, `STORAGE_...`) < `HEADWATER_...` environment
(`environment.py`).
The sections and keys of `config.toml` are those of the official project folder (docs/reference/platform.md, section 2), so an
existing `supabase/config.toml` is read unchanged; what it requests and this platform lacks causes a warning (`unsupported.py`).
Unknown keys cause a warning, never an error. A value that cannot work is an error; its text names the key as it was written and
the accepted form, never the value.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, get_origin

import msgspec
from msgspec import Struct

from schemas.settings.checks import normalized_settings
from schemas.settings.cleared import cleared_keys
from schemas.settings.environment import from_text, nearest, own_name, read_environment
from schemas.settings.forms import (
    KINDS,
    decode_value,
    form,
    is_table,
    keys,
    leaves,
    table_of_each,
    takes_text,
    texts,
)
from schemas.settings.remotes import block_of_branch, chosen_remote, over, remote_of_branch, with_remote
from schemas.settings.spelling import KeySpelling
from schemas.settings.tree import Settings, SettingsError
from schemas.settings.unsupported import UNSUPPORTED_KEYS, UNSUPPORTED_SECTIONS, is_unsupported, not_honoured

OTHER_NAMES = {"local_smtp": "inbucket"}
"""Sections of the official file with two names."""

USUAL_NAMES = {
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("observability", "otlp_endpoint"),
    "OTEL_EXPORTER_OTLP_HEADERS": ("observability", "otlp_headers"),
}
"""Names that other programs read too; every other notation of the key wins over them."""

NOT_READ = {
    "DATABASE_URL": (("db", "url"), "--database-url"),
    "NATS_URL": (("broker", "url"), "--nats-url"),
}
"""Names of other programs' servers, with the key and the option of `headwater start` that would name the server here.

They are not read: an application's shell has them, and a platform must not take an application's server by accident.
"""

_SUBSTITUTION = re.compile(r"env\((\w+)\)")
_LEFT_OUT = re.compile(r"edge_runtime\.secrets|functions\.[^.]+\.env|db\.vault")
"""Tables of the user's secrets: an entry whose variable is not set is left out."""
_HAS_DEFAULT = re.compile(r"auth\.(site_url|external_url|redirect_url|saml\.external_url)")
"""Addresses that have a default: one whose variable is not set is left out, for the text `env(NAME)` is no address."""
_SERVICE = re.compile(r"auth\.(external\.\w+|sms\.\w+|email\.smtp)")
"""Services elsewhere that a clone of a project may lack: one whose variables are not set stays off."""
_AT = re.compile(r"`\$\.([\w.]+(?:\[(?:\d+|\.\.\.)\][\w.]*)*)")


_DEEPEST = 50
"""Nesting limit of a file's tables; settings need five levels."""


def load_settings(
    config: bytes = b"", environment: Mapping[str, str] | None = None, *, source: str = "config.toml"
) -> tuple[Settings, list[str]]:
    """Return the settings from the bytes of a `config.toml` and an environment, with warnings.

    `env(NAME)` inside a string of the file is replaced from the environment.
    Raises: SettingsError if the file is not TOML, or a value is of the wrong type or cannot work.
    """
    env = os.environ if environment is None else environment
    file = _substituted(_parsed(config, source), env)
    tree = cleared_keys(env).without(with_remote(file, env, source))
    tree = over(tree, block_of_branch(file, env, source))
    from_environment = read_environment(env)
    for value in from_environment.values:
        _remove(tree, value.path)
    recognized, warnings = _split_unknown(tree, Settings, "", source)
    warnings += not_honoured(tree, source)
    written = frozenset(_dotted(recognized))
    for value in from_environment.values:
        _set(recognized, value.path, value.value)
    for variable, path in USUAL_NAMES.items():
        if env.get(variable):
            _set(recognized, path, from_text(env[variable], KINDS[path], variable), keep=True)
    try:
        converted = msgspec.convert(recognized, Settings, strict=False, dec_hook=decode_value)
    except msgspec.ValidationError as error:
        raise SettingsError(_type_error(error, recognized, source)) from None
    settings, settled = normalized_settings(
        converted, KeySpelling(source, written, from_environment.variables)
    )
    return settings, [*warnings, *from_environment.warnings, *settled, *_unread(env, recognized)]


def applied_remotes(
    config: bytes, environment: Mapping[str, str], *, source: str = "config.toml"
) -> tuple[str, str]:
    """Return the blocks `[remotes.NAME]` that apply: that of the platform, and that of a branch; empty for none. Raises: SettingsError."""
    file = _substituted(_parsed(config, source), environment)
    return chosen_remote(file, environment, source), remote_of_branch(file, environment, source)


def _unread(env: Mapping[str, str], tree: dict[str, Any]) -> list[str]:
    """Return a notice for each name of `NOT_READ` that is set while no setting names such a server."""
    return [
        f"{name} in the environment is not read. To use that server, set {own_name(path)} or give {option}"
        for variable, (path, option) in NOT_READ.items()
        for name in (variable, f"{variable}_FILE")
        if env.get(name) and not _table_at(tree, path[0]).get(path[1])
    ]


def _parsed(config: bytes, source: str) -> dict[str, Any]:
    try:
        parsed = tomllib.loads(config.decode())
    except RecursionError:
        raise SettingsError(f"{source} is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and numbers of too many digits
        raise SettingsError(f"{source} is not valid TOML: {error}") from None
    if _is_deeper(parsed, _DEEPEST):  # dotted keys nest without recursion in the parser
        raise SettingsError(f"{source} is nested too deeply")
    renamed = _renamed(parsed)
    if isinstance(remotes := renamed.get("remotes"), dict):
        renamed["remotes"] = {
            name: _renamed(block) if isinstance(block, dict) else block for name, block in remotes.items()
        }
    return renamed


def _renamed(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {OTHER_NAMES.get(name, name): value for name, value in tree.items()}


def _is_deeper(value: object, most: int) -> bool:
    """Return whether tables and lists are nested more than `most` times."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most < 0 or any(_is_deeper(item, most - 1) for item in inner)


def _split_unknown(
    tree: dict[str, Any], struct: type[Struct], path: str, source: str, *, is_off: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Separate known keys from unknown ones; return a warning for each unknown one.

    What is switched off (`is_off`: by a table around it) needs no variables: texts that refer to unset ones are left out.
    Raises: SettingsError for a secret, a number or the like that refers to a variable which is not set.
    """
    kinds, recognized, warnings = keys(struct), {}, []
    is_off = is_off or tree.get("enabled") in (False, "false")
    if not is_off and _SERVICE.fullmatch(path) and (missing := _missing(tree, kinds)):
        tree, is_off = tree | {"enabled": False}, True
        warnings.append(f"{path} in {source} stays off, for {missing} is not set")
    for key, value in tree.items():
        where = f"{path}.{key}" if path else key
        kind = kinds.get(key)
        if kind is None:
            if not is_unsupported(where):
                here = [f"{path}.{name}" if path else name for name in kinds]
                warnings.append(f"unknown key {where} in {source} is ignored{_meant(where, here)}")
        elif is_table(kind) and isinstance(value, dict):
            recognized[key], nested = _split_unknown(value, kind, where, source, is_off=is_off)
            warnings += nested
        elif (table := table_of_each(kind)) and isinstance(value, dict):
            recognized[key], nested = _split_each(value, table, where, source, is_off=is_off)
            warnings += nested
        elif _HAS_DEFAULT.fullmatch(where) and (missing := _missing_in(value)):
            if not is_off:
                warnings.append(
                    f"{where} in {source} asks for env({missing}), but {missing} is not set: the default is used"
                )
        elif not (is_off and any(_unset(value))):
            recognized[key] = texts(value) if get_origin(kind) is dict else value
            for unset in _unset(value):
                sentence = f"{where} in {source} asks for {unset[0]}, but {unset[1]} is not set"
                if not takes_text(kind) and not _LEFT_OUT.fullmatch(where):
                    raise SettingsError(sentence)
                warnings.append(sentence)
    return recognized, warnings


def _split_each(
    tree: dict[str, Any], struct: type[Struct], path: str, source: str, *, is_off: bool
) -> tuple[dict[str, Any], list[str]]:
    """Do the same for every table of a family, such as `buckets.<name>`."""
    recognized: dict[str, Any] = {}
    warnings: list[str] = []
    for name, value in tree.items():
        recognized[name] = value
        if isinstance(value, dict):
            recognized[name], nested = _split_unknown(value, struct, f"{path}.{name}", source, is_off=is_off)
            warnings += nested
    return recognized, warnings


def _missing(tree: dict[str, Any], kinds: Mapping[str, Any]) -> str:
    """Return an unset variable that a secret, a number or the like of a table refers to."""
    unset = (
        reference[1]
        for key, value in tree.items()
        if key in kinds and not takes_text(kinds[key]) and not is_table(kinds[key])
        for reference in _unset(value)
    )
    return next(unset, "")


def _missing_in(value: Any) -> str:
    """Return the first unset variable that a text refers to, empty if there is none."""
    return next((reference[1] for reference in _unset(value)), "")


def _meant(where: str, here: list[str]) -> str:
    """Return a suggestion: a similar key of the same table, else the only key of this name elsewhere."""
    if near := nearest(where, [*here, *UNSUPPORTED_SECTIONS, *UNSUPPORTED_KEYS]):
        return near
    name = where.rpartition(".")[2]
    elsewhere = [".".join(path) for path in KINDS if path[-1] == name]
    return f"; did you mean {elsewhere[0]}?" if len(elsewhere) == 1 else ""


def _dotted(tree: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the dotted path of everything in a tree."""
    for key, value in tree.items():
        yield f"{path}{key}"
        if isinstance(value, dict):
            yield from _dotted(value, f"{path}{key}.")


def _unset(value: Any) -> Iterator[re.Match[str]]:
    """Yield the references to unset variables in a text, or in the texts of a table or list."""
    texts_of = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    for text in texts_of:
        if isinstance(text, str) and (reference := _SUBSTITUTION.search(text)):
            yield reference


def _substituted(value: Any, env: Mapping[str, str]) -> Any:
    match value:
        case str():
            return _SUBSTITUTION.sub(lambda reference: env.get(reference[1], reference[0]), value)
        case dict():
            return {key: _substituted(inner, env) for key, inner in value.items()}
        case list():
            return [_substituted(inner, env) for inner in value]
    return value


def _set(tree: dict[str, Any], path: tuple[str, ...], value: Any, *, keep: bool = False) -> None:
    """Set a value in the tree. A value where a table should be is left for the conversion to reject."""
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            return
    if not (keep and tree.get(path[-1])):
        tree[path[-1]] = value


def _remove(tree: dict[str, Any], path: tuple[str, ...]) -> None:
    """Remove a key of the file that the environment sets: an `env(NAME)` in it then needs no variable."""
    for part in path[:-1]:
        tree = tree.get(part, {})
        if not isinstance(tree, dict):
            return
    tree.pop(path[-1], None)


def _type_error(error: msgspec.ValidationError, tree: dict[str, Any], source: str) -> str:
    """Return which key has a wrong type, and the accepted form. The library's error text is about its own types, so it is not shown."""
    match = _AT.search(str(error))
    path = match[1] if match else "the file"
    if "[...]" not in path:
        key = re.sub(r"\[\d+\]", "", path)
        return f"{source}: {key} must be {form(KINDS.get(tuple(key.split('.'))))}"
    family, _, rest = path.partition("[...]")
    kind = KINDS.get(tuple(family.split(".")))
    table, rest = table_of_each(kind), re.sub(r"\[[\d.]+\]", "", rest.lstrip("."))
    if table is None:
        return f"{source}: {family} must be {form(kind)}"
    name = next(
        (name for name, value in _table_at(tree, family).items() if not _fits(value, table)), "<name>"
    )
    accepted = form(dict(leaves(table)).get(tuple(rest.split(".")))) if rest else "a table"
    return f"{source}: {family}.{name}{'.' if rest else ''}{rest} must be {accepted}"


def _table_at(tree: dict[str, Any], path: str) -> dict[str, Any]:
    node: Any = tree
    for part in path.split("."):
        node = node.get(part) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


def _fits(value: Any, table: type[Struct]) -> bool:
    try:
        msgspec.convert(value, table, strict=False, dec_hook=decode_value)
    except msgspec.ValidationError:
        return False
    return True
