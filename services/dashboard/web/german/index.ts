/** All texts in German, by their areas: one file that a browser in German fetches before the first page. */

import { applications } from "./applications.ts";
import { access, caller, changes, columnsField, schemas, types } from "./components.ts";
import { help, palette } from "./palette.ts";

export const german = {
  access,
  "auth applications": applications,
  caller,
  changes,
  columnsField,
  help,
  palette,
  schemas,
  types,
};
