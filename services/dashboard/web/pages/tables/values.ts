/** Values of columns: how cells show them, and how editors read them. Everything is text in the format of Postgres. */

import type { DescribedTable, RowOfPage, TableColumn } from "../../generated/operations.ts";

export type TextValue = string | null;
export type Values = { readonly [column: string]: TextValue };

const insertEvent = 8;
const updateEvent = 4;
const deleteEvent = 16;

/** Which changes a table takes by what it is; the rights of the administrator come on top. */
export function changesOf(table: DescribedTable) {
  const has = (event: number) => (table.events & event) !== 0;
  return {
    mayInsert: has(insertEvent),
    mayUpdate: has(updateEvent) && table.key.length > 0,
    mayDelete: has(deleteEvent) && table.key.length > 0,
  };
}

/** Whether a value can be given to a column. */
export function isWritable(column: TableColumn): boolean {
  return column.generated === null && column.identity !== "always";
}

/** Numbers stand at the right. */
export function isAtRight(column: TableColumn): boolean {
  return column.category === "number";
}

/** The width of a column in px, by its type. */
export function widthOf(column: TableColumn): number {
  if (column.base_type === "bigint") return Math.max(168, nameWidth(column));
  const base = { number: 112, boolean: 88, uuid: 296, time: 220, json: 240, enum: 128, bytes: 160 }[column.category] ??
    200;
  return Math.max(base, nameWidth(column));
}

function nameWidth({ name, type }: TableColumn): number {
  return Math.min(280, name.length * 8 + type.length * 6 + 48);
}

/** Which control edits a column. */
export type EditorKind = "text" | "number" | "choice" | "json" | "array" | "time" | "reference" | "long";

export function editorOf(column: TableColumn): EditorKind {
  if (column.foreign_key) return "reference";
  switch (column.category) {
    case "boolean":
    case "enum":
      return "choice";
    case "json":
      return "json";
    case "array":
      return "array";
    case "number":
      return "number";
    case "time":
      return /^(date|timestamp)/.test(column.base_type) ? "time" : "text";
    case "text":
      return column.base_type === "text" ? "long" : "text";
    default:
      return "text";
  }
}

/** The choices of a boolean or an enum. */
export function choicesOf(column: TableColumn): readonly string[] {
  return column.category === "boolean" ? ["true", "false"] : column.enum_labels ?? [];
}

/** The text of a choice as `choicesOf` spells it: Postgres prints booleans as true and false, or t and f. */
export function choiceOf(column: TableColumn, value: TextValue): string {
  if (column.category !== "boolean" || value === null) return value ?? "";
  return value.startsWith("t") ? "true" : "false";
}

/** Read the literal of an array of one dimension; null if it is another kind of array. */
export function parseArray(literal: string): string[] | null {
  const body = /^\{([\s\S]*)\}$/.exec(literal.trim())?.[1];
  if (body === undefined) return null;
  if (body.trim() === "") return [];
  const items: string[] = [];
  const element = /\s*(?:"((?:[^"\\]|\\[\s\S])*)"|([^,{}"\\]+))\s*(,|$)/y;
  while (element.lastIndex < body.length) {
    const match = element.exec(body);
    if (!match) return null;
    const plain = match[2]?.trim();
    if (plain !== undefined && plain.toUpperCase() === "NULL") return null;
    items.push(plain ?? match[1]!.replace(/\\([\s\S])/g, "$1"));
    if (match[3] === "") return items;
  }
  return null;
}

/** Write an array literal. Source: PostgreSQL, "Arrays", "Array Input and Output Syntax". */
export function formatArray(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/(["\\])/g, "\\$1")}"`).join(",")}}`;
}

/** Return the values of a row of a page by column. */
export function valuesOf(columns: readonly TableColumn[], row: RowOfPage): Values {
  return Object.fromEntries(columns.map((column, index) => [column.name, row.cells[index] ?? null]));
}

/** A text that is the same for the same row: its key, or its place where there is no key. */
export function rowId(row: RowOfPage, index: number): string {
  const key = Object.values(row.key);
  return key.length ? JSON.stringify(key) : `#${index}`;
}

/** Rows as tab-separated text, as spreadsheets read it. */
export function tabSeparated(rows: readonly (readonly TextValue[])[]): string {
  const cell = (value: TextValue) =>
    value === null ? "" : /[\t\r\n"]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  return rows.map((row) => row.map(cell).join("\t")).join("\n");
}

/** Read tab-separated text as spreadsheets copy it: fields with tabs, line ends or quotes are in quotes. */
export function parseTabSeparated(text: string): string[][] {
  const rows: string[][] = [[]];
  const field = /(?:"((?:[^"]|"")*)"|([^\t\r\n]*))(\t|\r\n?|\n|$)/y;
  const whole = text.replace(/(?:\r\n?|\n)$/, "");
  for (;;) {
    const match = field.exec(whole);
    if (!match) return rows;
    rows[rows.length - 1]!.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (match[3] === "") return rows;
    if (match[3] !== "\t") rows.push([]);
  }
}

/** The number of lines of a text that spreadsheets copied is 1 and it has no tab: it is one value. */
export function isOneValue(cells: readonly (readonly string[])[]): boolean {
  return cells.length === 1 && cells[0]!.length === 1;
}

/** Return a member that the object itself has: columns may be called `constructor` or `__proto__`. */
export function ownValue<T>(values: { readonly [name: string]: T }, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}
