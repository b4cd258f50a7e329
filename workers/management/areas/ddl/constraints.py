"""Changes of constraints and indexes. Pure."""

from typing import Literal

from msgspec import Struct, field

from workers.management.areas.ddl.tables import ForeignKey, SchemaChange, TableChange
from workers.management.areas.ddl.text_checks import expression, name, names, qualified
from workers.management.interface.errors import invalid_arguments


def _constraint(change: TableChange, constraint: str | None, definition: str) -> list[str]:
    prefix = f"constraint {name(constraint)} " if constraint else ""
    return [f"alter table {change.target} add {prefix}{definition}"]


class AddPrimaryKey(TableChange, frozen=True, tag="add_primary_key"):
    """Add the primary key."""

    columns: list[str]
    name: str | None = None

    def statements(self) -> list[str]:
        """Return the statement."""
        return _constraint(self, self.name, f"primary key ({names(self.columns)})")


class AddUnique(TableChange, frozen=True, tag="add_unique"):
    """Add a unique constraint; `nulls_not_distinct`: one row with null at most."""

    columns: list[str]
    name: str | None = None
    nulls_not_distinct: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        nulls = " nulls not distinct" if self.nulls_not_distinct else ""
        return _constraint(self, self.name, f"unique{nulls} ({names(self.columns)})")


class AddForeignKey(TableChange, frozen=True, tag="add_foreign_key"):
    """Add a foreign key; `not_valid`: existing rows are not checked before `validate_constraint`."""

    columns: list[str]
    references: ForeignKey
    name: str | None = None
    not_valid: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        later = " not valid" if self.not_valid else ""
        return _constraint(
            self, self.name, f"foreign key ({names(self.columns)}) {self.references.sql()}{later}"
        )


class AddCheck(TableChange, frozen=True, tag="add_check"):
    """Add a check; `not_valid`: existing rows are not checked before `validate_constraint`."""

    check: str
    name: str | None = None
    not_valid: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        later = " not valid" if self.not_valid else ""
        return _constraint(self, self.name, f"check {expression(self.check, 'check')}{later}")


class ValidateConstraint(TableChange, frozen=True, tag="validate_constraint"):
    """Check the existing rows of a constraint that was added as not valid."""

    constraint: str

    def statements(self) -> list[str]:
        """Return the statement."""
        return [f"alter table {self.target} validate constraint {name(self.constraint)}"]


class DropConstraint(TableChange, frozen=True, tag="drop_constraint"):
    """Drop a constraint; with `cascade` also foreign keys that depend on it."""

    constraint: str
    cascade: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        cascade = " cascade" if self.cascade else ""
        return [f"alter table {self.target} drop constraint {name(self.constraint)}{cascade}"]


class IndexPart(Struct, frozen=True, forbid_unknown_fields=True):
    """One part of an index's key: a column or an expression."""

    column: str | None = None
    expression: str | None = None
    is_descending: bool = False
    nulls: Literal["first", "last"] | None = None
    operator_class: str | None = None
    """Name of the operator class, with its schema after a dot if it is not found otherwise: `extensions.gin_trgm_ops`."""

    def sql(self) -> str:
        """Return the part."""
        if (self.column is None) == (self.expression is None):
            raise invalid_arguments("A part of an index is either `column` or `expression`")
        key = (
            name(self.column) if self.column is not None else expression(self.expression or "", "expression")
        )
        words = [key]
        words += (
            [".".join(name(part) for part in self.operator_class.split("."))] if self.operator_class else []
        )
        words += ["desc"] if self.is_descending else []
        words += [f"nulls {self.nulls}"] if self.nulls else []
        return " ".join(words)


class CreateIndex(TableChange, frozen=True, tag="create_index"):
    """Create an index. `concurrently`: without a lock that stops writes; it must then be the only change."""

    parts: list[IndexPart]
    name: str | None = None
    method: Literal["btree", "hash", "gin", "gist", "brin", "spgist"] = "btree"
    is_unique: bool = False
    include: list[str] = field(default_factory=list)
    where: str | None = None
    concurrently: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        if not self.parts:
            raise invalid_arguments("`parts` must have at least one column or expression")
        words = ["create", *(["unique"] if self.is_unique else []), "index"]
        words += ["concurrently"] if self.concurrently else []
        words += [name(self.name)] if self.name else []
        words += [f"on {self.target} using {self.method} ({', '.join(part.sql() for part in self.parts)})"]
        words += [f"include ({names(self.include)})"] if self.include else []
        words += [f"where {expression(self.where, 'where')}"] if self.where is not None else []
        return [" ".join(words)]


class DropIndex(SchemaChange, frozen=True, tag="drop_index"):
    """Drop an index. `concurrently`: without a lock that stops reads and writes; it must then be the only change."""

    index: str
    schema: str = "public"
    concurrently: bool = False

    def statements(self) -> list[str]:
        """Return the statement."""
        return [
            f"drop index {'concurrently ' if self.concurrently else ''}{qualified(self.schema, self.index)}"
        ]
