/** How a table's columns are shown: which, in which order and width, which stay at the left. Kept in the browser, by table. */

import {
  type ColumnDef,
  type ColumnPinningState,
  type ColumnSizingState,
  getCoreRowModel,
  type Table,
  type Updater,
  useReactTable,
  type VisibilityState,
} from "@tanstack/react-table";
import { useMemo } from "react";
import { useKept } from "../../components/kept.ts";
import type { DescribedTable, TableColumn } from "../../generated/operations.ts";
import { widthOf } from "./values.ts";

export interface ColumnsState {
  columnOrder: string[];
  columnVisibility: VisibilityState;
  columnPinning: ColumnPinningState;
  columnSizing: ColumnSizingState;
}

export interface ColumnsView {
  /** The shown columns from left to right. */
  columns: readonly TableColumn[];
  /** Where the cells of each shown column are in a row of a page. */
  places: readonly number[];
  /** In px. */
  widths: readonly number[];
  /** So many of the first columns stay when the others scroll. */
  pinned: number;
  model: Table<never>;
  /** How the columns differ from the table itself; null if they do not. */
  state: ColumnsState | null;
  restore: (state: ColumnsState | null) => void;
  reset: () => void;
}

const unchanged: ColumnsState = { columnOrder: [], columnVisibility: {}, columnPinning: {}, columnSizing: {} };
const noRows: never[] = [];
const leastWidth = 56;
const mostWidth = 1_600;

export function useColumnsView(table: DescribedTable, all: readonly TableColumn[]): ColumnsView {
  const [kept, change] = useKept<ColumnsState | null>(`columns:${table.schema}.${table.name}`, () => null);
  const state = kept ?? unchanged;
  const columns = useMemo<ColumnDef<never>[]>(
    () => all.map((column) => ({ id: column.name, size: widthOf(column), minSize: leastWidth, maxSize: mostWidth })),
    [all],
  );
  const set = <K extends keyof ColumnsState>(name: K) => (updater: Updater<ColumnsState[K]>) =>
    change((before) => {
      const present = before ?? unchanged;
      return { ...present, [name]: typeof updater === "function" ? updater(present[name]) : updater };
    });
  const model = useReactTable<never>({
    data: noRows,
    columns,
    state,
    getCoreRowModel: getCoreRowModel(),
    columnResizeMode: "onChange",
    onColumnOrderChange: set("columnOrder"),
    onColumnVisibilityChange: set("columnVisibility"),
    onColumnPinningChange: set("columnPinning"),
    onColumnSizingChange: set("columnSizing"),
  });
  return useMemo(() => {
    const left = model.getLeftVisibleLeafColumns();
    const visible = [...left, ...model.getCenterVisibleLeafColumns()];
    // Columns of the table may have other names since they were hidden.
    const leaves = visible.length > 0 ? visible : model.getAllLeafColumns();
    const places = leaves.map(({ id }) => all.findIndex(({ name }) => name === id));
    return {
      columns: places.map((place) => all[place]!),
      places,
      widths: leaves.map((leaf) => leaf.getSize()),
      pinned: left.length,
      model,
      state: kept,
      restore: (next: ColumnsState | null) => change(() => next),
      reset: () => change(() => null),
    };
  }, [state, all, columns]);
}
