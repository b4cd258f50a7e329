import { useState } from "react";
import { useOperation } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { SearchField } from "../../components/Field.tsx";
import { QueryView } from "../../components/states.tsx";
import type { RowOfPage, TableColumn } from "../../generated/operations.ts";
import { tablesTexts as texts } from "./texts.ts";
import { rowId, type TextValue } from "./values.ts";

/** Chooses the row that a foreign key refers to. */
export default function ReferencePicker({ column, onChange }: {
  column: TableColumn;
  value: TextValue;
  onChange: (value: TextValue) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const [search, setSearch] = useState("");
  const target = column.foreign_key!;
  const searched = target.label ?? target.column;
  const rows = useOperation("rows.list", {
    schema: target.schema,
    table: target.table,
    limit: 50,
    max_cell: 100,
    filters: search ? [{ column: searched, op: "ilike", value: `%${search}%` }] : [],
  }, { isEnabled: isOpen, keepsPrevious: true });
  const names = [...new Set([target.column, target.label ?? ""])].filter(Boolean);
  return (
    <>
      <span>
        <Button size="small" icon="search" onPress={() => setOpen(true)}>{texts.edit.pick}</Button>
      </span>
      <Dialog title={texts.edit.pickTitle(target.table)} isOpen={isOpen} onClose={() => setOpen(false)}>
        <SearchField label={texts.edit.pickSearch(searched)} value={search} onChange={setSearch} hasFocus />
        <QueryView query={rows}>
          {(page) => {
            const others = page.columns.filter((name) => !names.includes(name)).slice(0, 2);
            const columns: Column<RowOfPage>[] = [...names, ...others].map((name, index) => ({
              id: name,
              title: name,
              isMinor: index > 1,
              cell: (row) => <span className="cut">{row.cells[page.columns.indexOf(name)] ?? texts.edit.null}</span>,
            }));
            return (
              <DataTable
                label={target.table}
                columns={columns}
                rows={page.rows}
                keyOf={(row) => rowId(row, page.rows.indexOf(row))}
                height="18rem"
                onOpen={(row) => {
                  onChange(row.cells[page.columns.indexOf(target.column)] ?? null);
                  setOpen(false);
                }}
              />
            );
          }}
        </QueryView>
      </Dialog>
    </>
  );
}
