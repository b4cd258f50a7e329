"""A project: its folder, its `config.toml`, its `.env` files, and the settings they make.

Order: defaults < config.toml < ports of the last start < `.env` < `.env.local` < the process' environment < options of the command line.
Options of ports hold for later starts of the data folder, until a start names other ones. The env files of the project's folder and of the folder of config.toml are read. Only their `HEADWATER_...` and `GOTRUE_...` names are used, and
names that `env(NAME)` in config.toml refers to, because an application has its own DATABASE_URL there.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from broker.processes.secret_files import with_file_values
from schemas.branches import BranchRecord
from schemas.settings.dotenv import parse_dotenv
from schemas.settings.environment import is_setting, without_report
from schemas.settings.reading import applied_remotes, load_settings
from schemas.settings.remotes import REMOTE, REMOTE_OF_BRANCH
from schemas.settings.tree import Settings, SettingsError
from services.supervisor.branches import overrides as branches
from services.supervisor.branches.record import OWN_SETTINGS, read_record
from services.supervisor.data_folder.folder import DataFolder, is_data_folder
from services.supervisor.errors import StartRefused

DATA_FOLDER = ".headwater"
CONFIG = Path("supabase", "config.toml")
_ENV_FILES = (".env", ".env.local")
_SUBSTITUTION = re.compile(r"env\((\w+)\)")
_ADDRESS_VARIABLES = (
    "HEADWATER_CERTIFICATES_",
    "HEADWATER_GATEWAY_HOST",
    "HEADWATER_GATEWAY_TRUSTED_PROXIES",
    "HEADWATER_API_PORT",
    "HEADWATER_API_EXTERNAL_URL",
    "HEADWATER_API_TLS_ENABLED",
    REMOTE,
)
PORT_VARIABLES = {
    "HEADWATER_API_PORT": "api",
    "HEADWATER_DB_PORT": "db",
    "HEADWATER_DB_POOLER_PORT": "pooler",
    "HEADWATER_BROKER_PORT": "nats",
    "HEADWATER_BROKER_STREAMS_PORT": "stream_nats",
    "HEADWATER_INBUCKET_PORT": "mail",
    "HEADWATER_INBUCKET_SMTP_PORT": "smtp",
}

"""The variable of each port, which the options of `headwater start` set too."""
OPTION, LAST_START = "option", "last start"
"""Sources of a setting, beside the paths of env files."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project as it was read. `environment` is the source of its settings, and goes on to its child processes."""

    root: Path
    config: Path | None
    data: Path
    settings: Settings
    environment: Mapping[str, str] = field(repr=False)
    warnings: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    """Variable -> OPTION, LAST_START, or the path of the env file that set it; those of the process' environment are not listed."""
    remotes: tuple[str, ...] = ()
    """Names of the blocks `[remotes.NAME]` of config.toml that apply, the later ones winning."""

    @property
    def folder(self) -> Path:
        """The folder of migrations and seeds: `supabase` in the project, else the folder of config.toml."""
        default = self.root / CONFIG.parent
        return self.config.parent if self.config and not default.is_dir() else default

    @property
    def named_ports(self) -> frozenset[str]:
        """The ports that an option or the environment sets: of api, db, pooler, nats, mail and smtp."""
        return frozenset(name for variable, name in PORT_VARIABLES.items() if variable in self.environment)


def public_options(project: Project) -> dict[str, str]:
    """Return the settings of options that decide the gateway's address, and the block of `--remote`, which other commands cannot read from the project's files."""
    return {
        name: project.environment[name]
        for name, source in project.sources.items()
        if source == "option" and name.startswith(_ADDRESS_VARIABLES)
    }


def find_data(data: Path | None, root: Path | None) -> Path:
    """Return the data folder: the named one, else `.headwater` in the project's folder."""
    return Path(os.path.abspath(data if data is not None else (root or Path()) / DATA_FOLDER))


def find_data_above(data: Path | None, root: Path | None) -> Path:
    """Return the data folder as `find_data` does; without any name, look for one in the folders above."""
    here = find_data(data, root)
    if data is not None or root is not None:
        return here
    candidates = (folder / DATA_FOLDER for folder in here.parent.parents)
    return here if is_data_folder(here) else next(filter(is_data_folder, candidates), here)


def find_root(root: Path | None) -> Path:
    """Return the project's folder: the named one, else the nearest, here or above, that has a config or a platform; else the present one."""
    here = Path(os.path.abspath(root or Path()))
    if root is not None:
        return here
    candidates = (here, *here.parents)
    return next(
        (path for path in candidates if (path / CONFIG).is_file() or is_data_folder(path / DATA_FOLDER)), here
    )


def load_project(
    root: Path | None,
    config: Path | None,
    data: Path | None,
    overrides: Mapping[str, str],
    environment: Mapping[str, str] | None = None,
    earlier: Mapping[str, str] | None = None,
) -> Project:
    """Read a project. `overrides` are settings under their environment names, and win over everything; `earlier` ones over config.toml.

    Raises: StartRefused if a file is missing or cannot be read, or a setting cannot be used.
    """
    process = os.environ if environment is None else environment
    folder = Path(os.path.abspath(root or Path()))
    if not folder.is_dir():
        raise StartRefused(
            f"The project folder {folder} does not exist. Make it, or name another one with --project."
        )
    file = _config_file(folder, config)
    content = _read(file) if file else b""
    referenced = set(_SUBSTITUTION.findall(content.decode(errors="replace")))
    from_files, places, warnings = _env_files(folder, (file or folder / CONFIG).parent, referenced)
    merged = {**(earlier or {}), **from_files, **without_report(process), **overrides}
    sources = dict.fromkeys(earlier or {}, LAST_START) | places
    sources = {name: path for name, path in sources.items() if name not in process}
    sources |= dict.fromkeys(overrides, OPTION)
    place = find_data(data, folder)
    branch, source = read_record(place), str(file or CONFIG)
    try:
        merged = with_file_values(merged)
        if merged.get(REMOTE) and not file:
            raise SettingsError(
                f"There is no {CONFIG} with [remotes.{merged[REMOTE]}], which {REMOTE} or --remote names"
            )
        if remote := applied_remotes(content, merged, source=source)[0]:
            merged[REMOTE] = remote  # also in a branch, which has no `management.project_ref`
        if branch:
            own, own_warnings = _branch_settings(place, branch)
            warnings += own_warnings
            inherited = {name: text for name, text in merged.items() if name not in overrides}
            merged = branches.branch_environment(branch, content, inherited, own, earlier or {}, overrides)
            merged[REMOTE_OF_BRANCH] = f"{branch.name} {branch.git}".strip()
        settings, more = load_settings(content, merged, source=source)
        remotes = applied_remotes(content, merged, source=source)
    except SettingsError as error:
        raise StartRefused(f"{error}. Correct it and start again.") from None
    settings = _with_certificate(branches.with_server_settings(settings) if branch else settings, place)
    applied = tuple(name for name in dict.fromkeys(remotes) if name)
    return Project(folder, file, place, settings, merged, (*warnings, *more), sources, applied)


def _branch_settings(data: Path, branch: BranchRecord) -> tuple[dict[str, str], list[str]]:
    """Return the settings that a branch's data folder has for the branch alone, and warnings."""
    path = data / OWN_SETTINGS
    own, warnings = (
        parse_dotenv(_read(path).decode(errors="replace"), str(path)) if path.is_file() else ({}, [])
    )
    return own, [*warnings, *branches.ignored_settings(branch, own)]


def _with_certificate(settings: Settings, data: Path) -> Settings:
    """Return the settings with the self-signed certificate of the data folder, where TLS is on and no files are named."""
    tls = settings.api.tls
    if not tls.enabled or tls.cert_path:
        return settings
    folder = DataFolder(data)
    with_paths = replace(tls, cert_path=str(folder.certificate), key_path=str(folder.certificate_key))
    return replace(settings, api=replace(settings.api, tls=with_paths))


def _config_file(folder: Path, named: Path | None) -> Path | None:
    if named is None:
        default = folder / CONFIG
        if default.is_file():
            return default
        if os.path.lexists(default) or (os.path.lexists(default.parent) and not default.parent.is_dir()):
            wrong = default if default.parent.is_dir() else default.parent
            raise StartRefused(
                f"{wrong} is no {'file' if wrong == default else 'folder'}, or a link to nothing: the project's settings "
                "cannot be read. Remove it, or make the project with `headwater init`."
            )
        return None
    path = Path(os.path.abspath(named))
    if not path.is_file():
        raise StartRefused(
            f"There is no config file {path}. Correct --config, or make one with `headwater init`."
        )
    return path


def _env_files(
    root: Path, config_folder: Path, referenced: set[str]
) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Return the settings of the env files, the file that set each of them, and warnings."""
    values: dict[str, str] = {}
    places: dict[str, str] = {}
    warnings: list[str] = []
    for path in [folder / name for folder in dict.fromkeys((root, config_folder)) for name in _ENV_FILES]:
        if path.is_file():
            variables, new_warnings = parse_dotenv(_read(path).decode(errors="replace"), str(path))
            read = {
                name: text
                for name, text in without_report(variables).items()
                if is_setting(name) or name in referenced
            }
            values |= read
            places |= dict.fromkeys(read, str(path))
            warnings += new_warnings
    return values, places, warnings


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StartRefused(
            f"{path} cannot be read: {error.strerror}. Mend its rights and start again."
        ) from None
