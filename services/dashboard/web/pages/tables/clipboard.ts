/** What copying, pasting and filling in the grid do: one cell, a range of cells, the selected rows. */

import { toast } from "../../components/toasts.ts";
import type { RowOfPage, TableColumn } from "../../generated/operations.ts";
import { type CellRange, filledDown } from "./cellRange.ts";
import { type Edits, reportError, seenRowOf } from "./edits.ts";
import type { OpenDialog } from "./TableDialogs.tsx";
import { tablesTexts as texts } from "./texts.ts";
import { isOneValue, isWritable, parseTabSeparated, tabSeparated } from "./values.ts";

/** Return the handlers of the grid. `chosen`: the selected rows, which are copied before anything else. */
export function gridClipboard({ columns, chosen, edits, mayInsert, mayUpdate, onOpen }: {
  columns: readonly TableColumn[];
  chosen: readonly RowOfPage[];
  edits: Edits;
  mayInsert: boolean;
  mayUpdate: boolean;
  onOpen: (dialog: OpenDialog) => void;
}) {
  const onCopy = (cell: { row: RowOfPage; column: TableColumn | null } | null, range: CellRange | null) => {
    if (chosen.length > 0) return tabSeparated([columns.map(({ name }) => name), ...chosen.map((row) => row.cells)]);
    if (range) {
      if (range.isShortened) toast.info(texts.range.shortened);
      return tabSeparated(range.cells);
    }
    if (!cell) return null;
    if (!cell.column) return tabSeparated([cell.row.cells]);
    return cell.row.cells[columns.indexOf(cell.column)] ?? "";
  };
  const onPaste = (text: string, row: RowOfPage | null, column: TableColumn | null, range: CellRange | null) => {
    if (range) return mayUpdate && onOpen({ kind: "range", text, range });
    const cells = parseTabSeparated(text);
    if (!isOneValue(cells)) return mayInsert && onOpen({ kind: "paste", text });
    if (!row || !column || !mayUpdate || !isWritable(column)) return;
    edits.write(seenRowOf(columns, row), { [column.name]: cells[0]![0]! }).catch(reportError);
  };
  const onFillDown = (range: CellRange) => {
    const changes = filledDown(range);
    if (!mayUpdate || changes.length === 0 || Object.keys(changes[0]!.values).length === 0) return;
    // A value that was cut would be stored cut.
    if (range.isShortened) return toast.info(texts.range.tooLong);
    edits.writeRows(changes.map(({ row, values }) => ({ row: seenRowOf(columns, row), values }))).catch(reportError);
  };
  return { onCopy, onPaste, onFillDown };
}
