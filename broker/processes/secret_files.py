"""Settings in files: `HEADWATER_DB_URL_FILE=/run/secrets/db_url` sets `HEADWATER_DB_URL` to the file's content.

Containers pass secrets as files, so that they are in no environment, process list or description of a container. One line break at
the end of a file is not part of its value.
"""

from collections.abc import Mapping
from pathlib import Path

from schemas.settings.environment import environment_names
from schemas.settings.tree import SettingsError

SUFFIX = "_FILE"
_OTHERS = frozenset({"HEADWATER_MIGRATE_URL", "OTEL_EXPORTER_OTLP_HEADERS"})
"""Variables with secrets that are not settings of the tree."""


def with_file_values(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which every `..._FILE` variable is replaced by the file's content.

    Raises: SettingsError for a file that cannot be read, and for a value that is set in both ways.
    """
    values = dict(environment)
    for name, path in environment.items():
        variable = name.removesuffix(SUFFIX)
        if not name.endswith(SUFFIX) or not _is_readable(variable) or _is_readable(name):
            continue
        if variable in environment:
            raise SettingsError(f"{variable} and {name} are both set; take one away")
        values[variable] = _content(name, path)
        del values[name]
    return values


def _is_readable(variable: str) -> bool:
    return variable in environment_names() or variable in _OTHERS


def _content(name: str, path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{name} names {path}, which cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{name} names {path}, which is not valid UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")
