import { lazy, Suspense, useRef, useState } from "react";
import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { CopyButton } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Loading, QueryView } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import type { DescribedTable, RowVersion, StoredRow, TableColumn } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import type { Edits, SeenRow } from "./edits.ts";
import { historyTexts } from "./history/texts.ts";
import { RowField } from "./RowField.tsx";
import { useSaving } from "./saving.ts";
import { tablesTexts as texts } from "./texts.ts";
import { isWritable, ownValue, type TextValue } from "./values.ts";

const RowHistory = lazy(() => import("./history/RowHistory.tsx"));

type Draft = { readonly [column: string]: TextValue };

/** A new row, beside the table. Columns that are not touched get their default. */
export function InsertDialog({ table, edits, onClose }: { table: DescribedTable; edits: Edits; onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>({});
  const isAddingMore = useRef(false);
  /** Counts the rows that were inserted here: the form of the next one begins with the focus in its first field. */
  const [form, setForm] = useState(0);
  const saving = useSaving(async () => {
    await edits.insert([draft]);
    if (!isAddingMore.current) return onClose();
    setDraft({});
    setForm((number) => number + 1);
  });
  const submit = (addsMore: boolean) => {
    isAddingMore.current = addsMore;
    saving.start();
  };
  return (
    <Dialog
      title={texts.edit.insertTitle(table.name)}
      isOpen
      size="side"
      isDirty={Object.keys(draft).length > 0}
      onClose={onClose}
      onSubmit={() => submit(false)}
      error={saving.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button isPending={saving.isPending} onPress={() => submit(true)}>{texts.edit.insertMore}</Button>
          <Button type="submit" variant="primary" isPending={saving.isPending}>{texts.edit.insert}</Button>
        </>
      }
    >
      {table.columns.map((column, index) => (
        <RowField
          key={`${form} ${column.name}`}
          column={column}
          isFirst={index === table.columns.findIndex((other) => isWritable(other) && other.default === null)}
          value={ownValue(draft, column.name)}
          onChange={(value) => setDraft(withValue(draft, column.name, value))}
          isNew
        />
      ))}
    </Dialog>
  );
}

/** A row of the table with its whole values, to read and to change. */
export function RowDialog({ table, rowKey, edits, mayEdit, mayDelete, onClose, onDelete, onWhy }: {
  table: DescribedTable;
  rowKey: { [column: string]: string | null };
  edits: Edits;
  mayEdit: boolean;
  mayDelete: boolean;
  onClose: () => void;
  onDelete: (row: SeenRow) => void;
  onWhy: () => void;
}) {
  const stored = useOperation("rows.read", { schema: table.schema, table: table.name, key: rowKey }, { staleAfter: 0 });
  const [draft, setDraft] = useState<Draft>({});
  const [search, changeSearch] = useSearch();
  // The version that was shown first: an answer that is read again in the background must not hide a conflict.
  const [opened, setOpened] = useState<StoredRow | null>(null);
  if (stored.data && opened === null && !stored.isFetching) setOpened(stored.data);
  const seen = opened && { key: opened.key, version: opened.version, seen: opened.values };
  const changed = Object.keys(draft).filter((column) => draft[column] !== opened?.values[column]);
  const saving = useSaving(async () => {
    if (!seen) return;
    if (changed.length > 0) {
      const values = Object.fromEntries(changed.map((column) => [column, draft[column] ?? null]));
      await edits.write(seen, values);
    }
    onClose();
  });
  const onUndone = async (version: RowVersion) => {
    if (version.operation === "insert") return onClose();
    await edits.readAgain();
    if (changed.length === 0) setOpened(null);
  };
  const values = (
    <QueryView query={stored}>
      {(row) => {
        const shown = opened ?? row;
        return (
          <div className="tables-row-values">
            <div className="tables-row-actions">
              <Button size="small" icon="policy" onPress={onWhy}>{texts.why.title}</Button>
              <CopyButton text={JSON.stringify(shown.values, null, 2)} label={texts.edit.copyJson} />
            </div>
            {table.columns.map((column) => (
              <RowField
                key={column.name}
                column={column}
                value={Object.hasOwn(draft, column.name) ? draft[column.name] : shown.values[column.name] ?? null}
                onChange={(value) => setDraft(withValue(draft, column.name, value))}
                isReadOnly={!mayEdit}
              />
            ))}
          </div>
        );
      }}
    </QueryView>
  );
  const history = (
    <Suspense fallback={<Loading />}>
      <RowHistory table={table} rowKey={rowKey} onUndone={(version) => void onUndone(version)} />
    </Suspense>
  );
  return (
    <Dialog
      title={texts.edit.rowTitle(table.name)}
      isOpen
      size="side"
      isDirty={changed.length > 0}
      onClose={onClose}
      onSubmit={saving.start}
      error={saving.error}
      footer={
        <>
          <span className="tables-footer-start">
            {mayDelete && seen && <Button icon="trash" onPress={() => onDelete(seen)}>{texts.edit.delete}</Button>}
          </span>
          <Button onPress={onClose}>{mayEdit ? shellTexts.actions.cancel : shellTexts.actions.close}</Button>
          {mayEdit && (
            <Button type="submit" variant="primary" isDisabled={changed.length === 0} isPending={saving.isPending}>
              {texts.edit.save}
            </Button>
          )}
        </>
      }
    >
      {table.kind === "table"
        ? (
          <Tabs
            label={texts.edit.rowTitle(table.name)}
            selected={search["tab"] === "history" ? "history" : "row"}
            onSelect={(tab) => changeSearch({ tab: tab === "history" ? tab : null })}
            tabs={[
              { id: "row", title: historyTexts.row, content: values },
              { id: "history", title: historyTexts.tab, content: history },
            ]}
          />
        )
        : values}
    </Dialog>
  );
}

/** One value that is too large to be edited in its cell. */
export function CellDialog({ table, rowKey, column, edits, onClose }: {
  table: DescribedTable;
  rowKey: { [column: string]: string | null };
  column: TableColumn;
  edits: Edits;
  onClose: () => void;
}) {
  const stored = useOperation("rows.read", { schema: table.schema, table: table.name, key: rowKey }, { staleAfter: 0 });
  const [opened, setOpened] = useState<StoredRow | null>(null);
  if (stored.data && opened === null && !stored.isFetching) setOpened(stored.data);
  const [value, setValue] = useState<TextValue | undefined>(undefined);
  const saving = useSaving(async () => {
    if (opened && value !== undefined && value !== opened.values[column.name]) {
      await edits.write({ key: opened.key, version: opened.version, seen: opened.values }, { [column.name]: value });
    }
    onClose();
  });
  return (
    <Dialog
      title={texts.edit.cellTitle(column.name)}
      isOpen
      isDirty={value !== undefined}
      onClose={onClose}
      onSubmit={saving.start}
      error={saving.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={value === undefined} isPending={saving.isPending}>
            {shellTexts.actions.save}
          </Button>
        </>
      }
    >
      <QueryView query={stored}>
        {(row) => (
          <RowField
            column={column}
            isFirst
            value={value === undefined ? (opened ?? row).values[column.name] ?? null : value}
            onChange={setValue}
          />
        )}
      </QueryView>
    </Dialog>
  );
}

function withValue(draft: Draft, column: string, value: TextValue | undefined): Draft {
  const { [column]: _, ...others } = draft;
  return value === undefined ? others : { ...others, [column]: value };
}
