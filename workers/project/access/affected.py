"""Which tables a change may concern, and which claims of a token their policies read. Pure.

A table whose own description is as before, and whose policies read nothing but its columns and the claims, is not evaluated. A policy that calls
functions of the project, or reads other tables, may depend on anything: it is evaluated whenever anything at all changed.
"""

import re
from collections.abc import Sequence

import msgspec

from schemas.platform_names import PLATFORM_SCHEMAS
from workers.project.access.catalog import AccessCatalog, AccessRelation, Policy

_CLAIM_FUNCTIONS = {"auth.uid": "sub", "auth.email": "email", "auth.role": "role"}
_KNOWN_FUNCTIONS = {*_CLAIM_FUNCTIONS, "auth.jwt"}
_PATH = re.compile(r"auth\.jwt\(\)(?: AS \w+)?\)?(?P<path>(?:\s*->>?\s*'(?:[^']|'')*'(?:::text)?\)*)+)")
_PART = re.compile(r"->>?\s*'((?:[^']|'')*)'")
_JWT = re.compile(r"auth\.jwt\(\)")
_SETTING = re.compile(r"current_setting|current_user|session_user|set_config", re.IGNORECASE)


def changed_tables(before: AccessCatalog, after: AccessCatalog) -> list[str]:
    """Return the tables of both states that must be compared by their rows."""
    is_global = _world(before) != _world(after)
    written = any(relation.touched for relation in after.relations.values())
    names = []
    for title, now in after.relations.items():
        was = before.relations.get(title)
        if was is None or now.is_view or was.is_view:
            continue
        is_own = _own(was) != _own(now) or now.touched or was.file != now.file
        reads_more = any(_reads_more(policy) for policy in (*was.policies, *now.policies))
        if is_own or (reads_more and (is_global or written)) or (now.has_children and written):
            names.append(title)
    return names


def changed_views(before: AccessCatalog, after: AccessCatalog, *, rows_changed: bool) -> list[str]:
    """Return the views of both states whose result may change other than by their tables' policies."""
    names = []
    functions_changed = _functions(before) != _functions(after)
    for title, now in after.relations.items():
        was = before.relations.get(title)
        if was is None or not (now.is_view and was.is_view):
            continue
        is_own = (now.definition, now.owner, now.is_invoker, now.rights) != (
            was.definition, was.owner, was.is_invoker, was.rights,
        )  # fmt: skip
        if now.schema in PLATFORM_SCHEMAS:
            continue
        if is_own or functions_changed or (rows_changed and not now.is_invoker):
            names.append(title)
    return names


def changed_functions(before: AccessCatalog, after: AccessCatalog, *, rows_changed: bool) -> list[str]:
    """Return the functions of both states that return rows without arguments, and may return others now."""
    concerned = rows_changed or _functions(before) != _functions(after)
    titles = sorted(before.functions.keys() & after.functions.keys()) if concerned else []
    return [
        title
        for title in titles
        if before.functions[title].is_plain
        and after.functions[title].is_plain
        and after.functions[title].schema not in PLATFORM_SCHEMAS
        and (after.functions[title].is_definer or before.functions[title] != after.functions[title])
    ]


def claims_read(policies: Sequence[Policy]) -> set[tuple[str, ...]] | None:
    """Return the paths of the claims that policies read, or None where they may read all of them."""
    paths: set[tuple[str, ...]] = set()
    for policy in policies:
        if policy.relations or set(policy.functions) - _KNOWN_FUNCTIONS:
            return None
        for text in (policy.using or "", policy.check or ""):
            if _SETTING.search(text):
                return None
            found = [tuple(_PART.findall(match["path"])) for match in _PATH.finditer(text)]
            if len(found) < len(_JWT.findall(text)):
                return None
            paths.update(found)
            paths.update((claim,) for name, claim in _CLAIM_FUNCTIONS.items() if f"{name}()" in text)
    return paths


def _reads_more(policy: Policy) -> bool:
    return bool(policy.relations or set(policy.functions) - _KNOWN_FUNCTIONS)


def _own(relation: AccessRelation) -> object:
    """Return what a table says about access by itself."""
    rights = {role: msgspec.structs.replace(rights, columns=[]) for role, rights in relation.rights.items()}
    policies = [
        (policy.command, policy.is_permissive, policy.roles, policy.using, policy.check)
        for policy in sorted(relation.policies, key=lambda policy: policy.name)
    ]
    return (relation.is_enabled, relation.is_forced, rights, policies, relation.kind)


def _functions(catalog: AccessCatalog) -> object:
    return {
        title: (function.is_definer, function.owner, function.definition)
        for title, function in catalog.functions.items()
    }


def _world(catalog: AccessCatalog) -> object:
    """Return everything that functions and sub-selects of policies may depend on, besides rows."""
    relations = {
        title: (_own(relation), relation.definition, relation.owner, relation.columns)
        for title, relation in catalog.relations.items()
    }
    return (_functions(catalog), relations, catalog.roles)
