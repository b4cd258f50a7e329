"""[branches]: copies of a platform (docs/branches.md)."""

from msgspec import Struct, field


class BranchSettings(Struct, frozen=True):
    """[branches]: what a branch is made without."""

    mask: dict[str, str] = field(default_factory=dict)
    """Columns that are masked before a branch answers anyone: `"public.users.email" = "email"`. Kinds: `null`, `hash`, `email`, `name`, `text`, `number(LEAST, MOST)`."""
