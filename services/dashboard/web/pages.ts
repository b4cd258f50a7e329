/** The pages: one line each, in the order of the list. A page that is not built is not here. See README.md. */

import { page, type PageEntry } from "./shell/page.ts";

export const pages: readonly PageEntry[] = [
  page("", "Home", "home", "", () => import("./pages/home/HomePage.tsx")),
  // Database: Tables, SQL, Schema, Policies

  // Users: Users, Auth settings, Mail

  // Project: Storage, Functions, Realtime, Jobs, GraphQL, REST

  // Operations: Logs, Performance, Backups

  // Platform: Settings
  page("settings", "Settings", "settings", "platform", () => import("./pages/settings/SettingsPage.tsx")),

  // For builders of pages, not in the list
  page("components", "Components", "layers", null, () => import("./pages/components/ComponentsPage.tsx")),
];
