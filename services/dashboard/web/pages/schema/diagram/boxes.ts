/** The boxes of the diagram: what each shows at which level of detail, and how large it is. Pure. Lengths are in px at zoom 1. */

import type { Diagram } from "../../../generated/operations.ts";

export const levels = ["names", "keys", "all"] as const;
/** What a box shows: the table's name, its keys too, or all of its columns. */
export type Level = (typeof levels)[number];
/** What the administrator chose: a level, or what the zoom makes legible. */
export type Detail = "auto" | Level;

export interface BoxColumn {
  name: string;
  type: string;
  isPrimary: boolean;
  /** A foreign key can refer to it alone. */
  isKey: boolean;
  isNullable: boolean;
  /** Tables that it refers to, `schema.table` outside of the schema. */
  refersTo: readonly string[];
  /** The last of these outside of the schema, to which no line leads. */
  outside: string | null;
}

export interface Box {
  name: string;
  /** Views have neither new columns nor keys. */
  isTable: boolean;
  columns: readonly BoxColumn[];
  /** Those of primary and foreign keys. */
  keys: readonly BoxColumn[];
  width: number;
  height: number;
}

export const headHeight = 32;
export const rowHeight = 22;
/** Height of a row, and of its letters, where keys alone are shown in a box that has room for all columns: legible from `keysFrom` on. */
const largeRow = 30;
const largeLetters = 21.5;
/** Columns that are drawn: a table may have 1,600, and nobody reads them here. */
export const mostColumns = 100;
const bottom = 6;
const wide = 260;
const narrow = 210;
/** A box of a few columns has room for its name in large letters and two or three keys. */
const leastHeight = 128;
/** The zoom from which columns, and keys, are at least 9 px high. */
const allFrom = 0.75;
const keysFrom = 0.42;

/** Return the boxes of a diagram, in the order of its tables. */
export function boxesOf(diagram: Diagram, detail: Detail): readonly Box[] {
  const references = new Map<string, Map<string, string[]>>();
  const outside = new Map<string, Map<string, string>>();
  for (const { table, columns, target } of diagram.foreign_keys) {
    const isInside = target.schema === diagram.schema;
    const name = isInside ? target.table : `${target.schema}.${target.table}`;
    for (const column of columns) {
      const ofTable = references.get(table) ?? new Map<string, string[]>();
      references.set(table, ofTable.set(column, [...ofTable.get(column) ?? [], name]));
      if (!isInside) outside.set(table, (outside.get(table) ?? new Map<string, string>()).set(column, name));
    }
  }
  return diagram.tables.map(({ name, kind, columns }) => {
    const all = columns.map((column): BoxColumn => ({
      name: column.name,
      type: shortType(column.type),
      isPrimary: column.is_primary,
      isKey: column.is_key,
      isNullable: column.is_nullable,
      refersTo: references.get(name)?.get(column.name) ?? [],
      outside: outside.get(name)?.get(column.name) ?? null,
    }));
    const keys = all.filter(({ isPrimary, refersTo }) => isPrimary || refersTo.length > 0);
    return { name, isTable: kind.endsWith("table"), columns: all, keys, ...sizeOf(detail, all.length, keys.length) };
  });
}

function sizeOf(detail: Detail, columns: number, keys: number): { width: number; height: number } {
  if (detail === "names") return { width: narrow, height: 44 };
  const shown = detail === "keys" ? keys : Math.min(columns, mostColumns + 1);
  const height = headHeight + rowHeight * shown + bottom;
  return { width: wide, height: detail === "auto" ? Math.max(height, leastHeight) : height };
}

/** Return what is shown at a zoom. */
export function levelOf(detail: Detail, zoom: number): Level {
  if (detail !== "auto") return detail;
  return zoom >= allFrom ? "all" : zoom >= keysFrom ? "keys" : "names";
}

/** Return the height of the head over large rows: a long name has two lines. */
export function largeHead(box: Box): number {
  return widthOf(box.name) * largeLetters > box.width - 20 ? largeRow * 2 - 4 : largeRow;
}

/** Return how many keys have room in large rows. */
export function roomForKeys(box: Box): number {
  const rows = Math.floor((box.height - largeHead(box) - bottom) / largeRow);
  // The last row says how many are left out.
  return box.keys.length <= rows ? box.keys.length : rows - 1;
}

/** Return where the line of a column's foreign key meets the box, from its top. */
export function heightOf(box: Box, detail: Detail, column: string | undefined): number {
  if (detail === "names") return box.height / 2;
  const rows = detail === "keys" ? box.keys : box.columns;
  const index = rows.findIndex(({ name }) => name === column);
  if (index < 0 || index >= mostColumns) return headHeight / 2;
  return headHeight + rowHeight * (index + 0.5);
}

/** Zooms for which names have a size of their own: a size for each would draw all boxes at every step of the wheel. */
const step = 1.2;

/** Return the largest zoom with a size of names of its own that is not above this one. */
export function zoomStep(zoom: number): number {
  return step ** Math.floor(Math.log(zoom) / Math.log(step));
}

/** Heights of names on the screen, in px, where there is room and where there is none. */
const largeName = 14;
const smallName = 9;
/** The height of a line as a part of its letters' size. */
const line = 1.2;

/** Return the size of a name alone in its box, at the zoom of `zoomStep`: as large as it fits, broken after `_` and never below 9 px. */
export function nameSize(box: Box, zoom: number): number {
  const parts = nameParts(box.name);
  for (let size = largeName / zoom; size > smallName / zoom; size *= 0.92) {
    const lines = linesOf(parts, (box.width - 20) / size);
    if (lines !== null && lines * size * line <= box.height - 10) return size;
  }
  return smallName / zoom;
}

/** Return the parts of a name between which it may be broken. */
export function nameParts(name: string): readonly string[] {
  return name.split(/(?<=[_\-. ])/);
}

/** Return how many lines the parts need, null if one is longer than a line. `perLine` as a multiple of the letters' size. */
function linesOf(parts: readonly string[], perLine: number): number | null {
  let lines = 1;
  let used = 0;
  for (const part of parts) {
    const width = widthOf(part);
    if (width > perLine) return null;
    if (used + width > perLine) {
      lines += 1;
      used = 0;
    }
    used += width;
  }
  return lines;
}

/** Return about how wide a text is as a multiple of its letters' size, in bold letters of a wide font (DejaVu Sans). */
function widthOf(text: string): number {
  let width = 0;
  for (const sign of text) {
    width += /[iljtfr.,' -]/.test(sign) ? 0.48 : /[mwMW]/.test(sign) || sign > "\u02ff" ? 1.06 : 0.72;
  }
  return width;
}

const shortNames: readonly (readonly [RegExp, string])[] = [
  [/^timestamp(\(\d\))? with time zone/, "timestamptz$1"],
  [/^timestamp(\(\d\))? without time zone/, "timestamp$1"],
  [/^time(\(\d\))? with time zone/, "timetz$1"],
  [/^time(\(\d\))? without time zone/, "time$1"],
  [/^character varying/, "varchar"],
  [/^character(?=\(|$)/, "char"],
  [/^double precision/, "float8"],
  [/^bit varying/, "varbit"],
];

/** Return the short name that Postgres has for a type with a long one. */
function shortType(type: string): string {
  for (const [pattern, short] of shortNames) {
    if (pattern.test(type)) return type.replace(pattern, short);
  }
  return type;
}
