/** The pages: one line each, in the order of the list; their titles are in texts.ts. A page that is not built is not here. See README.md. */

import { page, type PageEntry } from "./shell/page.ts";

export const pages: readonly PageEntry[] = [
  page("", "home", "", () => import("./pages/home/HomePage.tsx")),
  // Database: Tables, SQL, Assistant, Reports, Schema, Policies
  page("tables", "table", "database", () => import("./pages/tables/TablesPage.tsx"), ["rows"]),
  page("sql", "terminal", "database", () => import("./pages/sql/SqlPage.tsx"), ["sql"]),
  page("assistant", "bolt", "database", () => import("./pages/assistant/AssistantPage.tsx")),
  page("reports", "gauge", "database", () => import("./pages/reports/ReportsPage.tsx"), ["reports"]),
  page("schema", "layers", "database", () => import("./pages/schema/SchemaPage.tsx"), ["catalog"]),
  page("policies", "policy", "database", () => import("./pages/policies/PoliciesPage.tsx"), ["policies"]),

  // Users: Users, Auth settings, Mail
  page("users", "users", "users", () => import("./pages/users/UsersPage.tsx"), ["users"]),
  page("auth", "lock", "users", () => import("./pages/auth/AuthPage.tsx"), ["settings", "auth"]),
  page("mail", "mail", "users", () => import("./pages/mail/MailPage.tsx"), ["mail"], "developer"),

  // Project: Storage, Functions, Jobs, Streams, Realtime, GraphQL, REST
  page("storage", "box", "project", () => import("./pages/storage/StoragePage.tsx"), ["storage"]),
  page("functions", "function", "project", () => import("./pages/functions/FunctionsPage.tsx"), ["functions"]),
  page("jobs", "clock", "project", () => import("./pages/jobs/JobsPage.tsx"), [
    "jobs",
    "queues",
    "durable_jobs",
    "webhooks",
    "event_webhooks",
  ]),
  page("streams", "wave", "project", () => import("./pages/streams/StreamsPage.tsx"), ["streams"]),
  page("realtime", "radio", "project", () => import("./pages/realtime/RealtimePage.tsx"), ["realtime"]),
  page("graphql", "graph", "project", () => import("./pages/graphql/GraphqlPage.tsx"), ["platform"]),
  page("rest", "code", "project", () => import("./pages/rest/RestPage.tsx"), ["catalog"]),

  // Operations: Logs, Performance, Backups, Branches
  page("logs", "list", "operations", () => import("./pages/logs/LogsPage.tsx"), ["logs"]),
  page("performance", "gauge", "operations", () => import("./pages/performance/PerformancePage.tsx"), [
    "advisors",
    "statistics",
  ]),
  page("backups", "archive", "operations", () => import("./pages/backups/BackupsPage.tsx"), ["backups"]),
  page("branches", "branch", "operations", () => import("./pages/branches/BranchesPage.tsx"), ["branches"]),

  // Platform: Settings
  page("settings", "settings", "platform", () => import("./pages/settings/SettingsPage.tsx")),

  // Opened by a program that asks to be let in, not in the list
  page("connect", "key", null, () => import("./pages/connect/ConnectPage.tsx")),

  // Found by the palette, not in the list
  page("docs", "book", null, () => import("./pages/docs/DocsPage.tsx")),

  // For builders of pages, not in the list
  page("components", "layers", null, () => import("./pages/components/ComponentsPage.tsx")),
];
