"""What filters must know of a column."""

from msgspec import Struct


class Facts(Struct, frozen=True):
    """A column that the role may select, as the catalog has it."""

    name: str
    typname: str
    type: str
    """As `format_type` spells it with an empty search path, without a modifier."""
    is_enum: bool
    is_builtin: bool
    """Its type is one of pg_catalog."""
    is_deterministic: bool
    """Equal texts are those of equal bytes."""
    is_by_bytes: bool
    """Its collation orders texts by their bytes."""
