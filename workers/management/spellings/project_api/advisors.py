"""Endpoints on the advisors: their findings of one category, under the names of the official interface."""

from typing import Any

import msgspec

from schemas.http import Response
from workers.management.areas.advisors.model import AdvisorFinding, FindingCategory
from workers.management.operations.advisors import AdvisorFindings
from workers.management.spellings.project_api.call import ProjectCall, ProjectEndpoint, answered


async def list_security(call: ProjectCall) -> Response:
    """Return findings that concern security. With `lint_type=sql` those of settings are left out."""
    return await _lints(call, FindingCategory.SECURITY)


async def list_performance(call: ProjectCall) -> Response:
    """Return findings that concern performance."""
    return await _lints(call, FindingCategory.PERFORMANCE)


async def _lints(call: ProjectCall, category: FindingCategory) -> Response:
    result: AdvisorFindings = await call.operate("advisors.list", category=category.value)
    is_of_sql = call.first("lint_type") == "sql"
    findings = [finding for finding in result.findings if not (is_of_sql and finding.settings)]
    return answered({"lints": [_lint(finding) for finding in findings]})


def _lint(finding: AdvisorFinding) -> dict[str, Any]:
    """Return a finding with the members of the official interface. `remediation` is SQL or settings, not an address."""
    place = {"schema": finding.schema, "name": finding.object, "type": finding.type}
    return {
        "name": finding.name,
        "title": finding.title,
        "level": finding.level,
        "facing": "EXTERNAL",
        "categories": [finding.category],
        "description": finding.explanation,
        "detail": finding.detail,
        "remediation": _remediation(finding),
        "metadata": {
            **{name: value for name, value in place.items() if value is not None},
            **finding.metadata,
        },
        "cache_key": finding.cache_key,
    }


def _remediation(finding: AdvisorFinding) -> str:
    """Return what mends a finding, or its explanation if only a person can decide that."""
    if finding.settings:
        return "; ".join(
            f"set {name} = {msgspec.json.encode(value).decode()}" for name, value in finding.settings.items()
        )
    return finding.fix or finding.explanation


_ADVISORS = "/v1/projects/{ref}/advisors"
ENDPOINTS = (
    ProjectEndpoint("GET", f"{_ADVISORS}/performance", list_performance),
    ProjectEndpoint("GET", f"{_ADVISORS}/security", list_security),
)
