/** A row as it was at a moment, from its versions: pure. */

import type { RowVersion, VersionsOfRow } from "../../../generated/operations.ts";
import { textOf } from "./versions.ts";
import type { TextValue } from "../values.ts";

/** The values of a row by column, or why there are none. `isSure` is false where a gap may hide a change. */
export type PastRow =
  | { kind: "row"; values: readonly (readonly [string, TextValue])[]; unknown: readonly string[]; isSure: boolean }
  | { kind: "absent"; isSure: boolean }
  | { kind: "unknown" };

/**
 * Return the row at a moment, in milliseconds since 1970. It is what the last version up to then left; before the oldest version, what that
 * one replaced, as far back as the history goes.
 */
export function rowAt({ versions, gaps, since, is_cut: isCut }: VersionsOfRow, moment: number): PastRow {
  const last = versions.find(({ at }) => Date.parse(at) <= moment);
  const first = versions.at(-1);
  if (last) return past(last, "after", !gaps.some(({ at }) => at > last.at));
  if (!first || isCut || moment < Date.parse(since)) return { kind: "unknown" };
  return past(first, "before", !gaps.some(({ at }) => Date.parse(at) >= moment && at <= first.at));
}

function past(version: RowVersion, side: "before" | "after", isSure: boolean): PastRow {
  const { operation, before, after, omitted: unknown = [] } = version;
  if (operation === "truncate") return side === "after" ? { kind: "absent", isSure } : { kind: "unknown" };
  if (operation === (side === "after" ? "delete" : "insert")) return { kind: "absent", isSure };
  // `before` of an update has the changed columns alone.
  const row = side === "after" ? after : { ...after, ...before };
  const values = Object.entries(row ?? {}).map(([column, value]) => [column, textOf(value)] as const);
  return { kind: "row", values, unknown, isSure };
}
