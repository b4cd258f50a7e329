import { useState } from "react";
import { Link, pathOf } from "../../address.tsx";
import { useDelayed } from "../../api/delayed.ts";
import { useOperation } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { SearchField } from "../../components/Field.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import type { ReferencedColumn, RowOfPage, TableColumn } from "../../generated/operations.ts";
import { tablesTexts as texts } from "./texts.ts";
import { rowId, type TextValue } from "./values.ts";

const mostRows = 50;
const longestCell = 200;
const keyText = /^\d+$|^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A foreign key: the row that it refers to, a link to it, and another one chosen from its table. */
export default function ReferencePicker({ column, value, onChange, placeholder }: {
  column: TableColumn;
  value: TextValue;
  onChange: (value: TextValue) => void;
  placeholder?: string;
}) {
  const [isOpen, setOpen] = useState(false);
  const target = column.foreign_key!;
  return (
    <div className="tables-reference" role="group" aria-label={column.name}>
      {value === null
        ? <span className="tables-null">{placeholder || texts.grid.null}</span>
        : <Referenced target={target} value={value} />}
      <Button size="small" icon="search" onPress={() => setOpen(true)}>{texts.edit.pick}</Button>
      {isOpen && (
        <PickerDialog
          target={target}
          onClose={() => setOpen(false)}
          onPick={(picked) => {
            onChange(picked);
            setOpen(false);
          }}
        />
      )}
    </div>
  );
}

/** The row that a value refers to, by its label, as a link. */
function Referenced({ target, value }: { target: ReferencedColumn; value: string }) {
  const rows = useOperation("rows.list", {
    schema: target.schema,
    table: target.table,
    limit: 1,
    max_cell: longestCell,
    filters: [{ column: target.column, op: "eq", value }],
  }, { staleAfter: 30_000, isEnabled: target.label !== null });
  const page = rows.data;
  const label = page?.rows[0]?.cells[page.columns.indexOf(target.label ?? "")];
  const isUser = target.schema === "auth" && target.table === "users" && target.column === "id";
  return (
    <span className="tables-referenced">
      {label && <span>{label}</span>}
      <code className="soft">{value}</code>
      <Link
        to={isUser ? pathOf("users", value) : pathOf("tables", target.schema, target.table)}
        search={isUser ? {} : { filters: JSON.stringify([[target.column, "eq", value]]) }}
      >
        {texts.edit.openReferenced(target.table)}
      </Link>
    </span>
  );
}

function PickerDialog({ target, onPick, onClose }: {
  target: ReferencedColumn;
  onPick: (value: TextValue) => void;
  onClose: () => void;
}) {
  const [search, setSearch] = useState("");
  const label = target.label ?? target.column;
  const text = useDelayed(search.trim());
  const request = { schema: target.schema, table: target.table, max_cell: longestCell };
  const rows = useOperation("rows.list", {
    ...request,
    limit: mostRows,
    filters: target.label === null || text === "" ? [] : [{ column: label, op: "ilike", value: containing(text) }],
    sorts: [{ column: label }],
  }, { keepsPrevious: true });
  // What is typed may be a whole key, which no label contains.
  const byKey = useOperation("rows.list", {
    ...request,
    limit: 1,
    filters: [{ column: target.column, op: "eq", value: text }],
  }, { isEnabled: target.label === null ? text !== "" : keyText.test(text) });
  const found = text === "" ? [] : byKey.data?.rows ?? [];
  const names = [...new Set([label, target.column])];
  return (
    <Dialog title={texts.edit.pickTitle(target.table)} isOpen size="large" onClose={onClose}>
      <SearchField label={texts.edit.pickSearch(label)} value={search} onChange={setSearch} hasFocus />
      <QueryView
        query={rows}
        isEmpty={(page) => page.rows.length === 0 && found.length === 0}
        empty={<EmptyState icon="search" title={texts.edit.pickNone} />}
      >
        {(page) => {
          const columns: Column<RowOfPage>[] = names.map((name) => ({
            id: name,
            title: name,
            cell: (row) => (
              <span className={`cut${name === label ? "" : " code"}`}>
                {row.cells[page.columns.indexOf(name)] ?? texts.grid.null}
              </span>
            ),
          }));
          return (
            <DataTable
              label={target.table}
              columns={columns}
              rows={[...found, ...page.rows.filter((row) => !found.some((other) => rowId(other, 0) === rowId(row, 0)))]}
              keyOf={(row) => rowId(row, page.rows.indexOf(row))}
              height="22rem"
              onOpen={(row) => onPick(row.cells[page.columns.indexOf(target.column)] ?? null)}
            />
          );
        }}
      </QueryView>
    </Dialog>
  );
}

/** Return the pattern of all texts that contain one. */
function containing(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`;
}
