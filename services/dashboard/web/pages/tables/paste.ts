/** Which rows the cells of a spreadsheet become. Pure. */

import type { DescribedTable } from "../../generated/operations.ts";
import { isWritable, type Values } from "./values.ts";

export interface PastedRows {
  /** The columns that the cells fill, from left to right. */
  columns: readonly string[];
  rows: readonly Values[];
  /** Some lines have more cells than there are columns; these cells are in no row. */
  isTooWide: boolean;
}

/** Return whether every cell of a line is the name of a column. */
export function isHeader(table: DescribedTable, line: readonly string[]): boolean {
  const names = new Set(table.columns.map(({ name }) => name));
  return line.every((cell) => names.has(cell));
}

/** Return the rows of lines of cells, of which the first may be the header. Lines may differ in length. */
export function pastedRows(
  table: DescribedTable,
  lines: readonly (readonly string[])[],
  hasHeader: boolean,
): PastedRows {
  const [first = [], ...rest] = lines;
  const width = Math.max(first.length, ...rest.map((line) => line.findLastIndex((cell) => cell !== "") + 1));
  const writable = table.columns.filter(isWritable).map(({ name }) => name);
  // Cells without a header fill the columns that the database does not fill by itself.
  const unnumbered = table.columns.filter((column) => isWritable(column) && column.identity === null);
  const others = unnumbered.filter(({ default: preset }) => !preset?.startsWith("nextval(")).map(({ name }) => name);
  const columns = (hasHeader ? first : width > others.length ? writable : others).slice(0, width);
  const rows = (hasHeader ? rest : lines).map((cells) => {
    const pairs = columns.map((name, index) => [name, toValue(cells[index])] as const);
    return Object.fromEntries(pairs.filter(([name]) => writable.includes(name)));
  });
  return { columns, rows, isTooWide: width > columns.length };
}

/** Empty cells of a spreadsheet are NULL. */
function toValue(cell: string | undefined): string | null {
  return cell === undefined || cell === "" ? null : cell;
}
