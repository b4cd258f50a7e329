import { lazy, Suspense } from "react";
import type { DescribedTable, RowOfPage, TableColumn, ViewAsInput } from "../../generated/operations.ts";
import type { CellRange } from "./cellRange.ts";
import type { Edits, SeenRow } from "./edits.ts";
import { ImportDialog } from "./ImportDialog.tsx";
import { PasteDialog } from "./PasteDialog.tsx";
import { CellDialog, InsertDialog, RowDialog } from "./RowDialog.tsx";
import { WhyHidden } from "./WhyHidden.tsx";

const RangePasteDialog = lazy(() => import("./RangePasteDialog.tsx"));
const BulkEdit = lazy(() => import("./BulkEdit.tsx"));

/** The dialog that is open over a table, besides a row, which has an address. */
export type OpenDialog =
  | { kind: "insert" | "import" | "columns" | "views" }
  | { kind: "cell"; row: RowOfPage; column: TableColumn }
  | { kind: "why"; key: RowOfPage["key"] | null }
  | { kind: "bulk"; rows: readonly SeenRow[] }
  | { kind: "paste"; text: string }
  | { kind: "range"; text: string; range: CellRange };

/** The dialogs of a table's rows. */
export function TableDialogs(
  { table, open, rowKey, edits, viewAs, mayEdit, mayDelete, onOpen, onCloseRow, onDelete, onBulkDone }: {
    table: DescribedTable;
    open: OpenDialog | null;
    rowKey: RowOfPage["key"] | null;
    edits: Edits;
    viewAs: ViewAsInput | null;
    mayEdit: boolean;
    mayDelete: boolean;
    onOpen: (dialog: OpenDialog | null) => void;
    onCloseRow: () => void;
    onDelete: (row: SeenRow) => void;
    onBulkDone: () => void;
  },
) {
  return (
    <>
      {open?.kind === "insert" && <InsertDialog table={table} edits={edits} onClose={() => onOpen(null)} />}
      {open?.kind === "import" && (
        <ImportDialog
          table={table}
          onClose={() => onOpen(null)}
          onImported={() => void edits.readAgain()}
        />
      )}
      {open?.kind === "paste" && (
        <PasteDialog
          table={table}
          text={open.text}
          edits={edits}
          onClose={() => onOpen(null)}
        />
      )}
      {open?.kind === "range" && (
        <Suspense>
          <RangePasteDialog
            table={table}
            text={open.text}
            range={open.range}
            edits={edits}
            onClose={() => onOpen(null)}
          />
        </Suspense>
      )}
      {open?.kind === "bulk" && (
        <Suspense>
          <BulkEdit table={table} rows={open.rows} edits={edits} onClose={() => onOpen(null)} onDone={onBulkDone} />
        </Suspense>
      )}
      {open?.kind === "cell" && (
        <CellDialog
          table={table}
          rowKey={open.row.key}
          column={open.column}
          edits={edits}
          onClose={() => onOpen(null)}
        />
      )}
      {rowKey && open?.kind !== "why" && (
        <RowDialog
          key={JSON.stringify(rowKey)}
          table={table}
          rowKey={rowKey}
          edits={edits}
          mayEdit={mayEdit}
          mayDelete={mayDelete}
          onClose={onCloseRow}
          onDelete={onDelete}
          onWhy={() => onOpen({ kind: "why", key: rowKey })}
        />
      )}
      {open?.kind === "why" && (
        <WhyHidden
          table={table}
          rowKey={open.key}
          caller={viewAs}
          onClose={() => onOpen(null)}
        />
      )}
    </>
  );
}
