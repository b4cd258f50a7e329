"""Deployed functions: what the command line sends and receives, and its limits.

A bundle is a `.tar.gz` whose first member is `manifest.json` (`BundleManifest`). All other members are files below the folder of
`config.toml`: `functions/<name>/...`, shared files, static files. Links, `.env` files and absolute paths are not allowed.
"""

import re

from msgspec import Struct, field

from schemas.functions.variables import variable_fault
from schemas.settings.functions import FunctionJob, FunctionQueue, FunctionSettings

MANIFEST = "manifest.json"
MOST_PACKED = 20 * 1024 * 1024
"""Bytes of a bundle (docs/reference/functions.md, section 5)."""
MOST_UNPACKED = 64 * 1024 * 1024
MOST_FILES = 5_000
MOST_SECRETS = 100
LONGEST_SECRET_NAME = 256
LONGEST_SECRET = 48 * 1024
FUNCTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
SECRET_NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_.]{{0,{LONGEST_SECRET_NAME - 1}}}")


class BundleManifest(Struct, frozen=True):
    """What a bundle says about its function. `settings` contains no variables: those are set on the server."""

    name: str
    settings: FunctionSettings = field(default_factory=FunctionSettings)


class Version(Struct, frozen=True):
    """A deployed version of a function."""

    number: int
    sha256: str
    size: int
    at: float
    """Time of its deployment in epoch seconds."""
    is_active: bool = False


class ListedFunction(Struct, frozen=True):
    """A function as `headwater functions list` shows it."""

    name: str
    status: str
    """`deployed`, `local` (in the project's folder) or `off`."""
    version: int | None = None
    at: float | None = None
    verify_jwt: bool = True
    schedule: str = ""
    sha256: str = ""
    timezone: str = "UTC"
    size: int | None = None
    """Bytes of its bundle."""
    queue: FunctionQueue | None = None
    """The queue that it consumes."""
    job: FunctionJob | None = None
    """The durable job that it is."""


class SourceFile(Struct, frozen=True):
    """A file of a function: its text, or for other bytes their base64; neither if it did not fit into the response."""

    path: str
    size: int
    text: str | None = None
    base64: str | None = None


class DeployedSources(Struct, frozen=True):
    """The files of a function; `version` is null for one of the project's folder. `settings` contain no variables."""

    name: str
    version: int | None
    settings: FunctionSettings
    files: list[SourceFile]


class DeployResult(Struct, frozen=True):
    """The result of a deployment: `version` is the one that runs now."""

    name: str
    version: Version | None
    warnings: list[str] = []


class SecretDigest(Struct, frozen=True):
    """A secret without its value."""

    name: str
    digest: str
    """HMAC-SHA-256 of the value with a key of the platform: equal values have equal digests, no value is revealed."""
    at: float


class ServeSession(Struct, frozen=True):
    """What all functions run with while `headwater functions serve` is connected."""

    env: dict[str, str] = {}
    verify_jwt: bool | None = None


def secret_fault(name: str, value: str) -> str | None:
    """Return why a secret is not acceptable, or None. Source: docs/reference/functions.md, section 2."""
    if not SECRET_NAME.fullmatch(name):
        return (
            f"{name[:60]!r} is no name for a variable: letters, digits and _, at most {LONGEST_SECRET_NAME}"
        )
    if fault := variable_fault(name, value):
        return f"{name} cannot be a secret: {fault}"
    if len(value.encode()) > LONGEST_SECRET:
        return f"the value of {name} is longer than {LONGEST_SECRET} bytes"
    return f"the value of {name} has a NUL in it" if "\0" in value else None
