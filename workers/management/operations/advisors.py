"""Operations of the advisors: list faults with their fixes, dismiss those that are meant, restore them."""

from typing import Annotated, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from workers.database.transactions.model import TransactionSpec
from workers.management.areas.advisors.catalog import catalog_findings, catalog_statements
from workers.management.areas.advisors.configuration import configuration_findings
from workers.management.areas.advisors.model import AdvisorFinding, AdvisorLevel, AdvisorRule, FindingCategory
from workers.management.areas.advisors.rules import CATALOG_RULES
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import invalid_arguments, not_found
from workers.management.interface.identity.personal_data import Personal
from workers.management.interface.identity.store import Value, opened_rows, own_statement
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.operations", "advisors.sql")
_MOST_KEY_BYTES = 1000
_MOST_REASON = 1000
T = TypeVar("T")


class AdvisorQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Findings from a level on, of one category or schema or of all; dismissed ones only if they are included."""

    level: AdvisorLevel = AdvisorLevel.INFO
    category: FindingCategory | None = None
    schema: str | None = None
    include_dismissed: bool = False


class AdvisorFindings(Struct, frozen=True):
    """Findings, the gravest first. `omitted`: how many more there are; `dismissed`: how many are not listed for that reason."""

    findings: list[AdvisorFinding]
    omitted: int
    dismissed: int


class FindingDismissal(Struct, frozen=True, forbid_unknown_fields=True):
    """A finding by its `cache_key`, and why it is meant so."""

    cache_key: Annotated[str, limits.text(_MOST_KEY_BYTES)]
    reason: Annotated[str, limits.text(_MOST_REASON, least=0)] = ""


class FindingReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A dismissed finding by its `cache_key`."""

    cache_key: Annotated[str, limits.text(_MOST_KEY_BYTES)]


class DismissedFinding(Struct, frozen=True):
    """A finding that is not listed any more: who dismissed it, when and why."""

    cache_key: str
    actor: str
    reason: str
    at: str


async def list_findings(context: OperationContext, arguments: AdvisorQuery) -> AdvisorFindings:
    """Return the faults that the rules find in the database and in the settings of auth."""
    rules = tuple(
        rule
        for rule in CATALOG_RULES
        if rule.level.is_at_least(arguments.level) and arguments.category in (None, rule.category)
    )
    results = await context.database.read(
        *catalog_statements(context.configuration, rules), timeout_s=context.settings.statement_timeout_s
    )
    findings = [*catalog_findings(results, rules), *configuration_findings(context.configuration)]
    keys = set(await _run(context, "dismissed", str))
    chosen = [
        _marked(finding, keys)
        for finding in findings
        if finding.level.is_at_least(arguments.level)
        and arguments.category in (None, finding.category)
        and arguments.schema in (None, finding.schema)
    ]
    listed = [finding for finding in chosen if arguments.include_dismissed or not finding.is_dismissed]
    order = list(AdvisorLevel)
    listed.sort(key=lambda finding: (-order.index(finding.level), finding.name, finding.cache_key))
    most = context.settings.max_rows
    return AdvisorFindings(listed[:most], max(0, len(listed) - most), len(chosen) - len(listed))


async def list_rules(context: OperationContext, arguments: NoArguments) -> list[AdvisorRule]:
    """Return the rules that look at the database."""
    del context, arguments
    return list(CATALOG_RULES)


async def list_dismissed(context: OperationContext, arguments: NoArguments) -> list[DismissedFinding]:
    """Return dismissed findings, the latest first."""
    del arguments
    return await _run(context, "dismissals", DismissedFinding, context.settings.max_rows)


async def dismiss(context: OperationContext, arguments: FindingDismissal) -> DismissedFinding:
    """Stop listing a finding."""
    _check_key(arguments.cache_key)
    if len(arguments.reason) > _MOST_REASON or "\0" in arguments.reason:
        raise invalid_arguments(f"`reason` must have at most {_MOST_REASON} characters")
    values = (arguments.cache_key, Personal(context.actor.name), arguments.reason)
    [dismissed] = await _run(context, "dismiss", DismissedFinding, *values)
    context.after = arguments  # not who did it: that is stored sealed
    return dismissed


async def restore(context: OperationContext, arguments: FindingReference) -> DismissedFinding:
    """List a dismissed finding again."""
    _check_key(arguments.cache_key)
    rows = await _run(context, "restore", DismissedFinding, arguments.cache_key)
    if not rows:
        raise not_found("dismissed finding of this `cache_key`; advisors.dismissed lists them")
    [dismissed] = rows
    context.before = FindingDismissal(dismissed.cache_key, dismissed.reason)
    return dismissed


def _marked(finding: AdvisorFinding, dismissed: set[str]) -> AdvisorFinding:
    return replace(finding, is_dismissed=True) if finding.cache_key in dismissed else finding


async def _run(context: OperationContext, name: str, kind: type[T], *values: Value) -> list[T]:
    pool = await context.database.own()
    [rows] = await pool.run(TransactionSpec((), [own_statement(pool, _SQL[name], *values)]))
    return opened_rows(pool, rows, kind)


def _check_key(cache_key: str) -> None:
    if not 1 <= len(cache_key.encode(errors="replace")) <= _MOST_KEY_BYTES or "\0" in cache_key:
        raise invalid_arguments(f"`cache_key` must have 1 to {_MOST_KEY_BYTES} bytes; advisors.list shows it")


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("advisors.list", "List faults with their fixes", AdvisorQuery, AdvisorFindings, reader, list_findings),
        Operation("advisors.rules", "List the rules", NoArguments, list[AdvisorRule], reader, list_rules),
        Operation(
            "advisors.dismissed", "List dismissed findings", NoArguments, list[DismissedFinding], reader, list_dismissed
        ),
        Operation(
            "advisors.dismiss", "Dismiss a finding", FindingDismissal, DismissedFinding, developer, dismiss, changes=True
        ),
        Operation(
            "advisors.restore", "List a dismissed finding again", FindingReference, DismissedFinding, developer, restore,
            changes=True,
        ),
    ]  # fmt: skip
