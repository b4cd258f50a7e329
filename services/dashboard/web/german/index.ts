/** All texts in German, by their areas: one file that a browser in German fetches before the first page. */

import { applications } from "./applications.ts";
import { assistant } from "./assistant.ts";
import { auth } from "./auth.ts";
import { backups } from "./backups.ts";
import { branches } from "./branches.ts";
import { access, caller, changes, columnsField, schemas, types } from "./components.ts";
import { connect } from "./connect.ts";
import { docs } from "./docs.ts";
import { functions } from "./functions.ts";
import { graphql } from "./graphql.ts";
import { history } from "./history.ts";
import { home } from "./home.ts";
import { jobs } from "./jobs.ts";
import { logs } from "./logs.ts";
import { mail } from "./mail.ts";
import { help, palette } from "./palette.ts";
import { performance } from "./performance.ts";
import { policies } from "./policies.ts";
import { realtime } from "./realtime.ts";
import { reports } from "./reports.ts";
import { rest } from "./rest.ts";
import { schema } from "./schema.ts";
import { settings } from "./settings.ts";
import { shell } from "./shell.ts";
import { sql } from "./sql.ts";
import { storage } from "./storage.ts";
import { streams } from "./streams.ts";
import { tables } from "./tables.ts";
import { users } from "./users.ts";

export const german = {
  access,
  assistant,
  auth,
  "auth applications": applications,
  backups,
  branches,
  caller,
  changes,
  columnsField,
  connect,
  docs,
  functions,
  graphql,
  help,
  history,
  home,
  jobs,
  logs,
  mail,
  palette,
  performance,
  policies,
  realtime,
  reports,
  rest,
  schema,
  schemas,
  settings,
  shell,
  sql,
  storage,
  streams,
  tables,
  types,
  users,
};
