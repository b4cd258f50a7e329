/** A rectangle of cells: what is copied of it, and which changes a paste or a fill makes. Pure. */

import type { RowOfPage, TableColumn } from "../../generated/operations.ts";
import type { Cell } from "./CheckMark.tsx";
import { isWritable, type TextValue, type Values } from "./values.ts";

/** Indexes of rows and shown columns, ends included. */
export interface Rectangle {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

/** The cells of a rectangle: `cells` by row, in the order of `columns`. */
export interface CellRange {
  rows: readonly RowOfPage[];
  columns: readonly TableColumn[];
  cells: readonly (readonly TextValue[])[];
  /** Some values are longer than the grid reads: they would be copied cut. */
  isShortened: boolean;
}

/** What one row gets. */
export interface RowChange {
  row: RowOfPage;
  values: Values;
}

export function rectangleOf(corner: Cell, active: Cell): Rectangle {
  return {
    top: Math.max(0, Math.min(corner.row, active.row)),
    bottom: Math.max(corner.row, active.row),
    left: Math.max(0, Math.min(corner.column, active.column)),
    right: Math.max(corner.column, active.column),
  };
}

/** Return the cells of a rectangle. `places`: where the cells of each shown column are in a row. */
export function cellRangeOf(
  { top, bottom, left, right }: Rectangle,
  rows: readonly RowOfPage[],
  columns: readonly TableColumn[],
  places: readonly number[],
): CellRange {
  const inside = rows.slice(top, bottom + 1);
  const chosen = places.slice(left, right + 1);
  return {
    rows: inside,
    columns: columns.slice(left, right + 1),
    cells: inside.map((row) => chosen.map((place) => row.cells[place] ?? null)),
    isShortened: inside.some((row) => chosen.some((place) => row.shortened.includes(place))),
  };
}

/**
 * Return what the rows of a range get of pasted cells, and how many columns take no value. The cells are repeated where the
 * range has room for them several times, as in spreadsheets; otherwise they fill it from its first cell. Empty cells are NULL.
 */
export function pastedChanges(
  { rows, columns }: CellRange,
  cells: readonly (readonly string[])[],
): { changes: readonly RowChange[]; columns: readonly TableColumn[]; isLeftOut: boolean } {
  const height = rows.length % cells.length === 0 ? rows.length : Math.min(rows.length, cells.length);
  const lineWidth = Math.max(...cells.map((line) => line.length));
  const width = columns.length % lineWidth === 0 ? columns.length : Math.min(columns.length, lineWidth);
  const filled = columns.slice(0, width);
  const writable = filled.filter(isWritable);
  const changes = rows.slice(0, height).map((row, line) => ({
    row,
    values: Object.fromEntries(writable.map((column) => {
      const cell = cells[line % cells.length]![filled.indexOf(column) % lineWidth];
      return [column.name, cell === undefined || cell === "" ? null : cell];
    })),
  }));
  const isLeftOut = height < cells.length || width < lineWidth || writable.length < filled.length;
  return { changes, columns: writable, isLeftOut };
}

/** Return what the rows below the first of a range get: its values, in the columns that take one. */
export function filledDown({ rows, columns, cells }: CellRange): readonly RowChange[] {
  const first = cells[0] ?? [];
  const values = Object.fromEntries(
    columns.flatMap((column, index) => isWritable(column) ? [[column.name, first[index] ?? null] as const] : []),
  );
  return rows.slice(1).map((row) => ({ row, values }));
}
