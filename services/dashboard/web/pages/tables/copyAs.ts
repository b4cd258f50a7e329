/** Rows as texts for other programs. Pure. */

import type { DescribedTable, TableColumn } from "../../generated/operations.ts";
import { quotedName } from "../../sqlName.ts";
import { type Cells, csvOf, jsonOf } from "../sql/result.ts";
import { tabSeparated, type TextValue } from "./values.ts";

export const copyFormats = ["tsv", "csv", "json", "sql", "markdown"] as const;
export type CopyFormat = typeof copyFormats[number];

/** Return rows, whose cells are in the order of the table's columns, in a format. */
export function copyOf(format: CopyFormat, table: DescribedTable, rows: readonly Cells[]): string {
  const { columns } = table;
  switch (format) {
    case "tsv":
      return tabSeparated([columns.map(({ name }) => name), ...rows]);
    case "csv":
      return csvOf({ columns, rows });
    case "json":
      return jsonOf({ columns, rows });
    case "sql":
      return insertOf(table, rows);
    case "markdown":
      return markdownOf(columns, rows);
  }
}

function insertOf({ schema, name, columns }: DescribedTable, rows: readonly Cells[]): string {
  const places = columns.flatMap(({ generated }, place) => generated === null ? [place] : []);
  const names = places.map((place) => quotedName(columns[place]!.name)).join(", ");
  const isAlwaysNumbered = columns.some(({ identity }) => identity === "always");
  const values = rows.map((row) =>
    `  (${places.map((place) => literal(columns[place]!, row[place] ?? null)).join(", ")})`
  );
  return `insert into ${quotedName(schema)}.${quotedName(name)} (${names})${
    isAlwaysNumbered ? " overriding system value" : ""
  } values\n${values.join(",\n")};\n`;
}

/** Return a value as SQL has it; numbers that SQL can read as they are stay without quotes. */
function literal(column: TableColumn, value: TextValue): string {
  if (value === null) return "null";
  if (column.category === "number" && /^-?\d+(\.\d+)?$/.test(value)) return value;
  return `'${value.replaceAll("'", "''")}'`;
}

function markdownOf(columns: readonly TableColumn[], rows: readonly Cells[]): string {
  const cell = (text: string) => text.replace(/[\\|]/g, "\\$&").replace(/\r\n?|\n/g, "<br>");
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    line(columns.map(({ name }) => cell(name))),
    line(columns.map(({ category }) => category === "number" ? "---:" : "---")),
    ...rows.map((row) => line(columns.map((_, place) => cell(row[place] ?? "")))),
  ].join("\n") + "\n";
}
