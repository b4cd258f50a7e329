"""[branches]: copies of a platform (docs/branches.md)."""

from msgspec import Struct, field

from schemas.settings.types import Duration


class BranchSettings(Struct, frozen=True):
    """[branches]: what a branch is made without."""

    stop_after: Duration = Duration(0)
    """Time without use after which a running branch stops: no request, no open socket, no session of another program in its database. `0s`: never."""
    remove_after: Duration = Duration(0)
    """Time after which a branch is removed, whether it is used or not; counted from its creation. `0s`: never."""
    mask: dict[str, str] = field(default_factory=dict)
    """Columns that are masked before a branch answers anyone: `"public.users.email" = "email"`. Kinds: `null`, `hash`, `email`, `name`, `text`, `number(LEAST, MOST)`."""
