/** Results as rows of texts, and their spellings as CSV and JSON. */

import type { ColumnOfResult } from "../../generated/operations.ts";

export type Cells = readonly (string | null)[];

export interface Rows {
  columns: readonly Pick<ColumnOfResult, "name" | "type">[];
  rows: readonly Cells[];
}

const numberTypes = /^(smallint|integer|bigint|numeric|real|double precision|oid|int[248]|float[48])\b/;

/** Return whether a type of a column holds numbers. */
export function isNumeric(type: string): boolean {
  return numberTypes.test(type) && !type.endsWith("[]");
}

/** Return rows as CSV (RFC 4180); null is an empty field, an empty text is quoted. */
export function csvOf({ columns, rows }: Rows): string {
  const field = (value: string | null) =>
    value === null ? "" : value === "" || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  const lines = [columns.map((column) => column.name), ...rows].map((row) => row.map(field).join(","));
  return lines.join("\r\n") + "\r\n";
}

/** Numbers that a double may not hold: many digits, exponents. */
const maybeInexact = /\d{16}|\d[eE][+-]?\d|\.\d{12}/;

/** Return names of which each is another one: the second `id` becomes `id_2`, or the next number that is free. */
function distinctNames(columns: Rows["columns"]): readonly string[] {
  const taken = new Set(columns.map(({ name }) => name));
  const used = new Set<string>();
  return columns.map(({ name }) => {
    let distinct = name;
    for (let number = 2; used.has(distinct) || (distinct !== name && taken.has(distinct)); number++) {
      distinct = `${name}_${number}`;
    }
    used.add(distinct);
    return distinct;
  });
}

/** Return rows as a JSON list of objects. Values stay texts where a double would change a number, or JSON has none such. */
export function jsonOf({ columns, rows }: Rows): string {
  const value = (text: string | null, type: string): unknown => {
    if (text === null) return null;
    if (type === "boolean") return text === "t" || text === "true";
    if (isNumeric(type) && Number.isFinite(Number(text)) && String(Number(text)) === text) return Number(text);
    if ((type === "json" || type === "jsonb") && !maybeInexact.test(text)) {
      try {
        return JSON.parse(text);
      } catch {
        return text; // a shortened value
      }
    }
    return text;
  };
  const names = distinctNames(columns);
  const objects = rows.map((row) =>
    Object.fromEntries(columns.map(({ type }, index) => [names[index]!, value(row[index] ?? null, type)]))
  );
  return JSON.stringify(objects, null, 2);
}

/** Return the cells of an object of `sql.stream`. */
export function cellsOf(object: unknown, columns: readonly ColumnOfResult[]): Cells {
  const values = object as { readonly [name: string]: unknown };
  return columns.map(({ name }) => {
    const value = values[name];
    if (value === null || value === undefined) return null;
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}

/** Have the browser save a file. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Return the place of a line and column (both from 1, columns in characters) in a text. */
export function placeOf(text: string, line: number, column: number): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, earlier) => sum + earlier.length + 1, 0);
  return before + Array.from(lines[line - 1] ?? "").slice(0, column - 1).join("").length;
}
