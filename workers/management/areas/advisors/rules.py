"""The rules that look at the database: names, levels and explanations. Their statements are in security.sql and performance.sql.

Source: the documentation of the linter `splinter`; a test compares findings with those of the official command line.
"""

from workers.management.areas.advisors.model import AdvisorLevel, AdvisorRule, FindingCategory

_ERROR, _WARN, _INFO = AdvisorLevel.ERROR, AdvisorLevel.WARN, AdvisorLevel.INFO


def _security(name: str, level: AdvisorLevel, title: str, explanation: str) -> AdvisorRule:
    return AdvisorRule(name, title, level, FindingCategory.SECURITY, explanation)


def _performance(name: str, level: AdvisorLevel, title: str, explanation: str) -> AdvisorRule:
    return AdvisorRule(name, title, level, FindingCategory.PERFORMANCE, explanation)


SECURITY_RULES = (
    _security(
        "auth_users_exposed", _ERROR, "Users are shown by a view",
        "A view reads with the rights of its owner, so whoever may read it sees the users it shows, with addresses and "
        "metadata. Take the grants away, or copy what clients need into a table with policies.",
    ),
    _security(
        "policy_exists_rls_disabled", _ERROR, "Policies without row level security",
        "Policies apply only after `alter table ... enable row level security`; until then every row is open.",
    ),
    _security(
        "rls_enabled_no_policy", _INFO, "Row level security without policies",
        "Without a policy no client reads or writes the table. That is safe; add policies if clients need it.",
    ),
    _security(
        "security_definer_view", _ERROR, "View with the rights of its owner",
        "A view without `security_invoker` reads its tables as its owner, to whom policies do not apply.",
    ),
    _security(
        "function_search_path_mutable", _WARN, "Function with a mutable search_path",
        "A caller may set search_path so that names in the function mean other objects. The fix sets the usual path; stricter "
        "is `set search_path = ''` with every name qualified.",
    ),
    _security(
        "rls_disabled_in_public", _ERROR, "Served table without row level security",
        "Clients with any API key may read and, with grants, change every row. After the fix no row is visible until there are policies.",
    ),
    _security(
        "extension_in_public", _WARN, "Extension in schema public",
        "Objects of the extension are served to clients and mix with yours. Schema `extensions` is meant for them.",
    ),
    _security(
        "rls_references_user_metadata", _ERROR, "Policy that trusts user_metadata",
        "Users change their own user_metadata. Decide by app_metadata, which only the service role changes; the fix reads that, so "
        "copy the values there before.",
    ),
    _security(
        "materialized_view_in_api", _WARN, "Served materialized view",
        "Policies do not apply to materialized views: whoever may read one sees all of it.",
    ),
    _security(
        "foreign_table_in_api", _WARN, "Served foreign table",
        "Policies do not apply to foreign tables: whoever may read one sees all of it.",
    ),
    _security(
        "unsupported_reg_types", _WARN, "Column of a type that names an object",
        "Types such as regproc hold numbers of this server's catalog. An upgrade of Postgres cannot carry them over.",
    ),
    _security(
        "insecure_queue_exposed_in_api", _ERROR, "Served queue without row level security",
        "Clients may send to and read from the queue. Switch row level security on and add policies.",
    ),
    _security(
        "fkey_to_auth_unique", _ERROR, "Foreign key to a unique constraint of schema auth",
        "Only primary keys of schema auth are stable. Refer to auth.users (id) instead.",
    ),
    _security(
        "extension_versions_outdated", _WARN, "Extension of an older version",
        "The server has a newer version of the extension, with its corrections.",
    ),
    _security(
        "sensitive_columns_exposed", _ERROR, "Served columns that look secret",
        "The names of the columns are those of credentials or personal data, and every client may read the table.",
    ),
    _security(
        "rls_policy_always_true", _WARN, "Policy that allows every change",
        "An expression that is always true lets every client of the role insert, change or delete all rows. Name the rows instead.",
    ),
    _security(
        "public_bucket_allows_listing", _WARN, "Public bucket that clients may list",
        "Objects of a public bucket are read by their addresses without any policy. A policy that shows all of them lets clients find "
        "every name. Drop it, or show each client its own.",
    ),
    _security(
        "pg_graphql_anon_table_exposed", _WARN, "Table in GraphQL for everyone",
        "Whoever has the public key can read names of the table and its columns by introspection, also where policies hide every row.",
    ),
    _security(
        "pg_graphql_authenticated_table_exposed", _WARN, "Table in GraphQL for every user",
        "Every signed-in user can read names of the table and its columns by introspection, also where policies hide every row.",
    ),
    _security(
        "anon_security_definer_function_executable", _WARN, "Function with its owner's rights for everyone",
        "A security definer function passes over the policies of its caller, and it is served at /rest/v1/rpc. Postgres lets everyone execute "
        "new functions. Functions that policies call need no right of anon.",
    ),
    _security(
        "authenticated_security_definer_function_executable", _WARN, "Function with its owner's rights for every user",
        "A security definer function passes over the policies of its caller, and it is served at /rest/v1/rpc. Let it check who calls, or "
        "keep it in a schema that is not served.",
    ),
)  # fmt: skip

PERFORMANCE_RULES = (
    _performance(
        "unindexed_foreign_keys", _INFO, "Foreign key without an index",
        "Postgres looks up referring rows whenever a row referred to is changed or deleted; without an index it reads the table.",
    ),
    _performance(
        "auth_rls_initplan", _WARN, "Policy that calls a function for every row",
        "`auth.uid()` and `current_setting()` have one value in a statement. Within `(select ...)` they are called once.",
    ),
    _performance(
        "no_primary_key", _INFO, "Table without a primary key",
        "Rows cannot be named: changes cannot be replicated or edited by key, and the same row can be there twice.",
    ),
    _performance(
        "unused_index", _INFO, "Unused index",
        "Every change of the table maintains the index. Look at replicas and at rare jobs before you drop it.",
    ),
    _performance(
        "multiple_permissive_policies", _WARN, "Several permissive policies",
        "All permissive policies of a role and command are evaluated for each row; one with `or` is faster.",
    ),
    _performance(
        "duplicate_index", _WARN, "Duplicate index",
        "Indexes on the same columns in the same order cost space and time at every change, and help no more than one does.",
    ),
    _performance(
        "table_bloat", _INFO, "Table with much unused space",
        "Space of deleted rows was not given back. The fix writes the table anew and locks it meanwhile; `vacuum full` does the same "
        "outside of a migration.",
    ),
    _performance(
        "invalid_index", _WARN, "Invalid index",
        "A `create index concurrently` that fails leaves its index behind: changes maintain it, no query uses it, and a unique one may refuse rows.",
    ),
    _performance(
        "unused_replication_slot", _WARN, "Replication slot without a reader",
        "The server keeps its log from where the slot stands, until the disk is full. Drop it if its reader does not come back.",
    ),
)  # fmt: skip

CATALOG_RULES = (*SECURITY_RULES, *PERFORMANCE_RULES)
