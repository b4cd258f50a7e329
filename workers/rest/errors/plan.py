"""Errors of the step plan: the schema cache does not have what is named (2xx), or a request asks for what cannot be planned (1xx). Source: docs/reference/rest.md, section 20."""

from collections.abc import Sequence

from workers.rest.errors.base import RestError


class BadUpsertFilters(RestError):
    """PUT without exactly the primary key as `eq` filters."""

    code, status = "PGRST105", 405

    def __init__(self) -> None:
        super().__init__("Filters must include all and only primary key columns with 'eq' operators")


class FilterRequired(RestError):
    """PATCH or DELETE has no filter, and the project requires one. Code and message are those of the module `safeupdate`."""

    code, status = "21000", 400

    def __init__(self, command: str) -> None:
        super().__init__(f"{command} requires a WHERE clause")


class NotAcceptable(RestError):
    """None of the types in `Accept` can be produced."""

    code, status = "PGRST107", 406

    def __init__(self, types: Sequence[str]) -> None:
        super().__init__(f"None of these media types are available: {', '.join(types)}")


class NoHistory(RestError):
    """Versions of a relation without a history were requested."""

    code, status = "HW406", 406

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} has no history",
            hint=f"Switch it on: headwater history on {name} --days 30",
        )


class HistoryOfWrites(RestError):
    """Versions were requested by something else than a read of a table."""

    code, status = "HW405", 405

    def __init__(self) -> None:
        super().__init__("Versions of rows are read with GET on a table")


class TooManyRowsForHistory(RestError):
    """The filters find more rows than one request reads the history of."""

    code, status = "HW400", 400

    def __init__(self, most: int) -> None:
        super().__init__(
            f"The filters find more than {most} rows", hint="Name one row by its key, as in ?id=eq.1"
        )


class NotLive(RestError):
    """A read cannot be live, because of what it reads."""

    code, status = "HW400", 400


class NotLiveMedia(RestError):
    """A read cannot be live in its media type."""

    code, status = "HW406", 406

    def __init__(self) -> None:
        super().__init__("A live read answers in JSON: name application/json beside text/event-stream")


class NotEmbedded(RestError):
    """A filter, order or limit names a resource that `select` does not embed."""

    code, status = "PGRST108", 400

    def __init__(self, name: str, details: str | None = None, hint: str | None = None) -> None:
        super().__init__(
            f"'{name}' is not an embedded resource in this request",
            details,
            hint or f"Verify that '{name}' is included in the 'select' query parameter.",
        )


class RelatedOrderNotToOne(RestError):
    """The parent cannot be ordered by an embed of many rows."""

    code, status = "PGRST118", 400

    def __init__(self, origin: str, target: str) -> None:
        super().__init__(
            f"A related order on '{target}' is not possible",
            f"'{origin}' and '{target}' do not form a many-to-one or one-to-one relationship",
        )


class BadPreferences(RestError):
    """Unknown preferences with handling=strict."""

    code, status = "PGRST122", 400

    def __init__(self, invalid: Sequence[str]) -> None:
        super().__init__(
            "Invalid preferences given with handling=strict", f"Invalid preferences: {', '.join(invalid)}"
        )


class AggregatesDisabled(RestError):
    """An aggregate while the option is off."""

    code, status = "PGRST123", 400

    def __init__(self) -> None:
        super().__init__("Use of aggregate functions is not allowed")


class NotImplementedHere(RestError):
    """A combination that is not supported yet."""

    code, status = "PGRST127", 400

    def __init__(self, what: str) -> None:
        super().__init__("Feature not implemented", what)


class MaxAffectedNeedsSet(RestError):
    """`max-affected` on a function with one result."""

    code, status = "PGRST128", 400

    def __init__(self) -> None:
        super().__init__(
            "Function must return SETOF or TABLE when max-affected preference is used with handling=strict"
        )


class NoRelationship(RestError):
    """No foreign key joins the two relations."""

    code, status = "PGRST200", 400

    def __init__(
        self, origin: str, target: str, hint_used: str | None, schema: str, suggestion: str | None
    ) -> None:
        using = f" using the hint '{hint_used}'" if hint_used else ""
        super().__init__(
            f"Could not find a relationship between '{origin}' and '{target}' in the schema cache",
            f"Searched for a foreign key relationship between '{origin}' and '{target}'{using} in the schema '{schema}', "
            "but no matches were found.",
            suggestion,
        )


class AmbiguousRelationship(RestError):
    """Several foreign keys join the two relations."""

    code, status = "PGRST201", 300

    def __init__(
        self, origin: str, target: str, found: list[dict[str, str]], suggestions: Sequence[str]
    ) -> None:
        listed = ", ".join(f"'{name}'" for name in suggestions)
        super().__init__(
            f"Could not embed because more than one relationship was found for '{origin}' and '{target}'",
            found,
            f"Try changing '{target}' to one of the following: {listed}. Find the desired relationship in the 'details' key.",
        )


class DatabaseFunctionNotFound(RestError):
    """No function has this name and these parameters."""

    code, status = "PGRST202", 404


class AmbiguousFunction(RestError):
    """Several overloads fit."""

    code, status = "PGRST203", 300

    def __init__(self, candidates: Sequence[str]) -> None:
        super().__init__(
            f"Could not choose the best candidate function between: {', '.join(candidates)}",
            None,
            "Try renaming the parameters or the function itself in the database so function overloading can be resolved",
        )


class NoColumn(RestError):
    """The payload or `columns` names a column that the table lacks."""

    code, status = "PGRST204", 400

    def __init__(self, column: str, relation: str) -> None:
        super().__init__(f"Could not find the '{column}' column of '{relation}' in the schema cache")


class RelationNotFound(RestError):
    """No relation has this name."""

    code, status = "PGRST205", 404

    def __init__(self, schema: str, relation: str, near: str | None) -> None:
        hint = f"Perhaps you meant the table '{schema}.{near}'" if near else None
        super().__init__(f"Could not find the table '{schema}.{relation}' in the schema cache", None, hint)


NOT_IN_CATALOG = (NoRelationship, DatabaseFunctionNotFound, NoColumn, RelationNotFound)
"""The errors that a newer catalog may not have."""
