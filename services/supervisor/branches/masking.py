"""What a project masks in its branches: `[branches.mask]` of its settings, and branches/mask.sql of its folder."""

from schemas.branch_masks import InvalidMask, read_rules
from schemas.branches import Masking
from schemas.system_errors import system_error_text
from services.supervisor.errors import StartRefused
from services.supervisor.project.settings import Project

_FILE = ("branches", "mask.sql")
_MOST_BYTES = 1024 * 1024


def read_masking(project: Project, *, keeps_accounts: bool) -> Masking:
    """Return what is masked. Raises: StartRefused for a rule of another form, and for a file that cannot be read."""
    rules = project.settings.branches.mask
    path = project.folder.joinpath(*_FILE)
    try:
        read_rules(rules)
        sql = path.read_text(encoding="utf-8") if path.exists() else None
    except InvalidMask as error:
        raise StartRefused(f"{error}. Nothing was made.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = system_error_text(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise StartRefused(f"{path} cannot be read: {reason}. Nothing was made.") from None
    if sql is not None and len(sql.encode()) > _MOST_BYTES:
        raise StartRefused(f"{path} is longer than {_MOST_BYTES} bytes. Nothing was made.")
    return Masking(rules, sql, keeps_accounts)
