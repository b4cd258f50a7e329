"""Settings that lie in files: `HEADWATER_DB_URL_FILE=/run/secrets/db_url` is read where `HEADWATER_DB_URL` is meant.

So secrets come the way that containers carry them, and stand in no environment, no process list and no description of a
container. One line break at the end of a file is not part of its value.
"""

from collections.abc import Mapping
from pathlib import Path

from schemas.settings.environment import environment_names
from schemas.settings.tree import SettingsError

SUFFIX = "_FILE"
_OTHERS = frozenset({"DATABASE_URL", "NATS_URL", "HEADWATER_MIGRATE_URL", "OTEL_EXPORTER_OTLP_HEADERS"})
"""Names that are no settings of the tree, but hold secrets."""


def with_file_values(environment: Mapping[str, str]) -> dict[str, str]:
    """Give an environment in which every name of a file has become the value that stands in it.

    Raises: SettingsError for a file that cannot be read, and for a value that is given in both ways.
    """
    known = environment_names().keys() | _OTHERS
    found = dict(environment)
    for name, path in environment.items():
        meant = name.removesuffix(SUFFIX)
        if not name.endswith(SUFFIX) or meant not in known or name in known:
            continue
        if meant in environment:
            raise SettingsError(f"{meant} and {name} are both set; take one away")
        found[meant] = _content(name, path)
        del found[name]
    return found


def _content(name: str, path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{name} names {path}, which cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{name} names {path}, which is not valid UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")
