import { lazy, Suspense, useMemo, useRef, useState } from "react";
import { pathOf } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { PageHeader } from "../../components/basics.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { ErrorState, Loading } from "../../components/states.tsx";
import type { DescribedTable, RowOfPage, ViewAsInput } from "../../generated/operations.ts";
import { gridClipboard } from "./clipboard.ts";
import { CodeDialog } from "./CodeDialog.tsx";
import { useColumnsView } from "./columnsView.ts";
import { ConflictDialog } from "./ConflictDialog.tsx";
import { reportError, type SeenRow, seenRowOf, useEdits } from "./edits.ts";
import { copyRows, downloadRows } from "./download.ts";
import { Grid } from "./Grid.tsx";
import { NoRows } from "./NoRows.tsx";
import { RowsFoot } from "./RowsFoot.tsx";
import { CallerBanner, RowsToolbar } from "./RowsToolbar.tsx";
import { RowCountNote } from "./RowCountNote.tsx";
import { useRowWindow } from "./rowWindow.ts";
import { type OpenDialog, TableDialogs } from "./TableDialogs.tsx";
import { BackToTables, TableHead } from "./TableHead.tsx";
import { tablesTexts as texts } from "./texts.ts";
import { changesOf, isWritable, rowId } from "./values.ts";
import { useTableCommands } from "./commands.ts";
import { nextSorts, parseKey, useCallerName, useRowRequest, useViewState } from "./viewState.ts";

const ColumnsDialog = lazy(() => import("./ColumnsDialog.tsx"));
const SavedViewsDialog = lazy(() => import("./SavedViewsDialog.tsx"));
const TableHistory = lazy(() => import("./history/TableHistory.tsx"));

/** A table or view: what it is, and its rows. */
export function TableView({ schema, name }: { schema: string; name: string }) {
  const described = useOperation("rows.list", { schema, table: name, limit: 1, max_cell: 1 }, { staleAfter: 60_000 });
  if (described.data) return <Rows table={described.data.table} />;
  return (
    <>
      <PageHeader title={name} info={<BackToTables schema={schema} />} />
      {described.error ? <ErrorState error={described.error} onRetry={() => void described.refetch()} /> : <Loading />}
    </>
  );
}

/** What the administrator may do with the rows of a table: nothing while they are seen as another caller sees them. */
function useTableRights(table: DescribedTable, viewAs: ViewAsInput | null) {
  const mayUpdate = useMay("rows.update");
  const mayImport = useMay("rows.import");
  const changes = changesOf(table);
  const mayWrite = mayUpdate && viewAs === null;
  return {
    insert: mayWrite && changes.mayInsert,
    import: mayWrite && changes.mayInsert && mayImport,
    update: mayWrite && changes.mayUpdate,
    delete: mayWrite && changes.mayDelete,
  };
}

function isDeletionConfirmed(table: string, rows: readonly SeenRow[]): Promise<boolean> {
  return confirm({
    title: texts.delete.title(rows.length),
    body: texts.delete.body,
    names: rows.map(({ key }) => Object.entries(key).map(([column, value]) => `${column} = ${value}`).join(", ")),
    ...(rows.length > 1 ? { typeName: table } : {}),
    action: texts.delete.action(rows.length),
  });
}

function Rows({ table }: { table: DescribedTable }) {
  const view = useViewState();
  const { state, search, changeSearch } = view;
  const { viewAs } = state;
  const caller = useCallerName(viewAs);
  const [open, setOpen] = useState<OpenDialog | null>(null);
  const [selection, setSelection] = useState<ReadonlySet<string>>(new Set());
  const [visit, setVisit] = useState(0);
  const viewId = useRef("");
  const isLive = search["live"] === "on";
  const request = useRowRequest(table, state);
  const rowWindow = useRowWindow(request, state.isAtEnd, isLive && open === null, visit);
  const edits = useEdits(table, rowWindow);
  const may = useTableRights(table, viewAs);
  const { query, rows } = rowWindow;
  const shown = rowWindow.table ?? table;
  const columns = shown.columns;
  const columnsView = useColumnsView(table, columns);
  const pages = useMemo(
    () =>
      query.data?.pages.map((page, index) => ({
        id: JSON.stringify(query.data.pageParams[index]),
        size: page.rows.length,
      })) ?? [],
    [query.data],
  );
  const chosen = selection.size === 0 ? [] : rows.filter((row, index) => selection.has(rowId(row, index)));
  const seenRow = (row: RowOfPage) => seenRowOf(columns, row);
  const openRow = (row: RowOfPage) => table.key.length && changeSearch({ row: JSON.stringify(row.key) }, false);
  const deleteRows = async (doomed: readonly SeenRow[]) => {
    if (!await isDeletionConfirmed(table.name, doomed)) return;
    changeSearch({ row: null, tab: null });
    setSelection(new Set());
    await edits.remove(doomed).catch(reportError);
  };
  const clipboard = gridClipboard({
    columns,
    chosen,
    edits,
    mayInsert: may.insert,
    mayUpdate: may.update,
    onOpen: setOpen,
  });
  useTableCommands({
    insert: may.insert ? () => setOpen({ kind: "insert" }) : null,
    undo: () => void edits.undoLast(),
    viewAsAnon: () => view.setViewAs({ role: "anon" }),
  });
  const go = (isAtEnd: boolean) => {
    setVisit(visit + 1);
    changeSearch({ at: isAtEnd ? "end" : null });
  };
  const rowKey = parseKey(search["row"]);
  // The rows of the view before are shown until those of the new one come.
  if (!query.isPlaceholderData) viewId.current = JSON.stringify([request, state.isAtEnd, visit]);
  return (
    <>
      <TableHead
        table={table}
        mayInsert={may.insert}
        mayImport={may.import}
        onOpen={setOpen}
        onCode={() => changeSearch({ show: "code" }, false)}
        onHistory={() => changeSearch({ show: "history" }, false)}
        onExport={(format) => void downloadRows(request, format).catch(reportError)}
      />
      <RowsToolbar
        columns={columns}
        view={view}
        hidden={columns.length - columnsView.columns.length}
        onColumns={() => setOpen({ kind: "columns" })}
        onViews={() => setOpen({ kind: "views" })}
        isLive={isLive}
        isReading={query.isFetching && !query.isFetchingNextPage && !query.isFetchingPreviousPage && !isLive}
        onRefresh={() => void edits.readAgain()}
      />
      {viewAs && (
        <CallerBanner
          caller={caller}
          onWhy={() => setOpen({ kind: "why", key: null })}
          onLeave={() => view.setViewAs(null)}
        />
      )}
      <div className="tables-frame">
        {query.error && !query.data
          ? <ErrorState error={query.error} onRetry={() => void query.refetch()} />
          : !query.data
          ? <Loading />
          : (
            <>
              <Grid
                label={texts.grid.label(table.name)}
                view={columnsView}
                rows={rows}
                pages={pages}
                viewId={viewId.current}
                isAtEnd={state.isAtEnd}
                sorts={state.sorts}
                selection={selection}
                openId={rowKey ? JSON.stringify(Object.values(rowKey)) : null}
                onSort={(column, isAdded) => view.setSorts(nextSorts(state.sorts, column, isAdded))}
                onSelect={setSelection}
                onOpen={openRow}
                mayEdit={(column) => may.update && isWritable(column)}
                onCommit={(row, column, value) => {
                  edits.write(seenRow(row), { [column.name]: value }).catch(reportError);
                }}
                onEditLarge={(row, column) => setOpen({ kind: "cell", row, column })}
                {...clipboard}
                onUndo={() => void edits.undoLast()}
                onGo={go}
                hasNext={query.hasNextPage && !query.isFetching}
                hasPrevious={query.hasPreviousPage && !query.isFetching}
                onNext={() => void query.fetchNextPage({ cancelRefetch: false })}
                onPrevious={() => void query.fetchPreviousPage({ cancelRefetch: false })}
              />
              {rows.length === 0 && (
                <NoRows
                  policies={pathOf("policies", table.schema, table.name)}
                  caller={viewAs}
                  isFiltered={state.filters.length > 0}
                  onWhy={() => setOpen({ kind: "why", key: null })}
                  onClear={() => view.setFilters([])}
                  onInsert={may.insert ? () => setOpen({ kind: "insert" }) : null}
                />
              )}
            </>
          )}
      </div>
      <RowsFoot
        chosen={chosen.length}
        count={<RowCountNote request={request} rowWindow={rowWindow} />}
        isLoadingMore={query.isFetchingNextPage}
        hasKey={table.key.length > 0}
        isPaged={state.isAtEnd || query.hasNextPage || query.hasPreviousPage}
        onDelete={may.delete ? () => void deleteRows(chosen.map(seenRow)) : null}
        onEdit={may.update ? () => setOpen({ kind: "bulk", rows: chosen.map(seenRow) }) : null}
        onCopy={(format) => void copyRows(shown, chosen, format).catch(reportError)}
        onDeselect={() => setSelection(new Set())}
        onGo={go}
      />

      <TableDialogs
        table={shown}
        open={open}
        rowKey={rowKey}
        edits={edits}
        viewAs={viewAs}
        mayEdit={may.update}
        mayDelete={may.delete}
        onOpen={setOpen}
        onCloseRow={() => changeSearch({ row: null, tab: null })}
        onDelete={(row) => void deleteRows([row])}
        onBulkDone={() => {
          setOpen(null);
          setSelection(new Set());
        }}
      />
      {search["show"] === "code" && (
        <CodeDialog
          table={shown}
          state={state}
          rest={rowWindow.rest}
          onClose={() => changeSearch({ show: null })}
        />
      )}
      {search["show"] === "history" && (
        <Suspense>
          <TableHistory table={table} onClose={() => changeSearch({ show: null })} />
        </Suspense>
      )}
      {open?.kind === "columns" && (
        <Suspense>
          <ColumnsDialog view={columnsView} onClose={() => setOpen(null)} />
        </Suspense>
      )}
      {open?.kind === "views" && (
        <Suspense>
          <SavedViewsDialog
            table={table}
            view={view}
            columns={columnsView}
            onClose={() => setOpen(null)}
          />
        </Suspense>
      )}
      <ConflictDialog edits={edits} rowWindow={rowWindow} />
    </>
  );
}
