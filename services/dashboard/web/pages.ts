/** The pages: one line each, in the order of the list. A page that is not built is not here. See README.md. */

import { page, type PageEntry } from "./shell/page.ts";

export const pages: readonly PageEntry[] = [
  page("", "Home", "home", "", () => import("./pages/home/HomePage.tsx")),
  // Database: Tables, SQL, Assistant, Reports, Schema, Policies
  page("tables", "Tables", "table", "database", () => import("./pages/tables/TablesPage.tsx")),
  page("sql", "SQL", "terminal", "database", () => import("./pages/sql/SqlPage.tsx")),
  page("assistant", "Assistant", "bolt", "database", () => import("./pages/assistant/AssistantPage.tsx")),
  page("reports", "Reports", "gauge", "database", () => import("./pages/reports/ReportsPage.tsx")),
  page("schema", "Schema", "layers", "database", () => import("./pages/schema/SchemaPage.tsx")),
  page("policies", "Policies", "policy", "database", () => import("./pages/policies/PoliciesPage.tsx")),

  // Users: Users, Auth settings, Mail
  page("users", "Users", "users", "users", () => import("./pages/users/UsersPage.tsx")),
  page("auth", "Auth settings", "lock", "users", () => import("./pages/auth/AuthPage.tsx")),
  page("mail", "Mail", "mail", "users", () => import("./pages/mail/MailPage.tsx"), "developer"),

  // Project: Storage, Functions, Jobs, Streams, Realtime, GraphQL, REST
  page("storage", "Storage", "box", "project", () => import("./pages/storage/StoragePage.tsx")),
  page("functions", "Functions", "function", "project", () => import("./pages/functions/FunctionsPage.tsx")),
  page("jobs", "Jobs", "clock", "project", () => import("./pages/jobs/JobsPage.tsx")),
  page("streams", "Streams", "wave", "project", () => import("./pages/streams/StreamsPage.tsx")),
  page("realtime", "Realtime", "radio", "project", () => import("./pages/realtime/RealtimePage.tsx")),
  page("graphql", "GraphQL", "graph", "project", () => import("./pages/graphql/GraphqlPage.tsx")),
  page("rest", "REST", "code", "project", () => import("./pages/rest/RestPage.tsx")),

  // Operations: Logs, Performance, Backups, Branches
  page("logs", "Logs", "list", "operations", () => import("./pages/logs/LogsPage.tsx")),
  page("performance", "Performance", "gauge", "operations", () => import("./pages/performance/PerformancePage.tsx")),
  page("backups", "Backups", "archive", "operations", () => import("./pages/backups/BackupsPage.tsx")),
  page("branches", "Branches", "branch", "operations", () => import("./pages/branches/BranchesPage.tsx")),

  // Platform: Settings
  page("settings", "Settings", "settings", "platform", () => import("./pages/settings/SettingsPage.tsx")),

  // Opened by a program that asks to be let in, not in the list
  page("connect", "Connect a program", "key", null, () => import("./pages/connect/ConnectPage.tsx")),

  // Found by the palette, not in the list
  page("docs", "Documentation", "book", null, () => import("./pages/docs/DocsPage.tsx")),

  // For builders of pages, not in the list
  page("components", "Components", "layers", null, () => import("./pages/components/ComponentsPage.tsx")),
];
