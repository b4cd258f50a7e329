/** Versions of a row in words: pure. */

import type { JsonValue, RowVersion } from "../../../generated/operations.ts";
import type { TextValue } from "../values.ts";

/** A column that a version set or changed. `before` is undefined for an insert, `after` for a delete. */
export interface Difference {
  column: string;
  before?: TextValue;
  after?: TextValue;
}

/** Return a JSON value as text: strings without quotes, null as NULL of SQL. */
export function textOf(value: JsonValue | undefined): TextValue {
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Return what a version changed: the changed columns of an update, else all values of the row. */
export function differencesOf(version: RowVersion): Difference[] {
  const { operation, before, after } = version;
  if (operation === "insert") {
    return Object.entries(after ?? {}).map(([column, value]) => ({ column, after: textOf(value) }));
  }
  if (operation === "delete") {
    return Object.entries(before ?? {}).map(([column, value]) => ({ column, before: textOf(value) }));
  }
  return (version.changed ?? []).map((column) => ({
    column,
    before: textOf(before?.[column]),
    after: textOf(after?.[column]),
  }));
}

/** Return whether the values that a version replaced are known, so that it can be undone. */
export function isUndoable({ operation, omitted = [], before }: RowVersion): boolean {
  if (operation === "truncate" || omitted.length > 0) return false;
  return operation === "insert" || Object.keys(before ?? {}).length > 0;
}
