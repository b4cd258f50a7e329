import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { ComboBox } from "../../components/Select.tsx";
import { Note } from "../../components/states.tsx";
import type { DescribedTable } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import type { Edits, SeenRow } from "./edits.ts";
import { RowField } from "./RowField.tsx";
import { useSaving } from "./saving.ts";
import { tablesTexts as texts } from "./texts.ts";
import { isWritable, type TextValue } from "./values.ts";

/** One value for a column of several rows, stored in one transaction. */
export default function BulkEdit({ table, rows, edits, onClose, onDone }: {
  table: DescribedTable;
  rows: readonly SeenRow[];
  edits: Edits;
  onClose: () => void;
  onDone: () => void;
}) {
  const columns = table.columns.filter((column) => isWritable(column) && !table.key.includes(column.name));
  const [name, setName] = useState(columns[0]?.name ?? "");
  const [value, setValue] = useState<TextValue | undefined>(undefined);
  const column = columns.find((one) => one.name === name);
  const saving = useSaving(async () => {
    if (!column || value === undefined) return;
    await edits.writeAll(rows, { [column.name]: value });
    onDone();
  });
  return (
    <Dialog
      title={texts.bulk.title(rows.length)}
      isOpen
      isDirty={value !== undefined}
      onClose={onClose}
      onSubmit={saving.start}
      error={saving.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={value === undefined} isPending={saving.isPending}>
            {texts.bulk.action(rows.length)}
          </Button>
        </>
      }
    >
      <ComboBox
        label={texts.bulk.column}
        choices={columns.map((one) => ({ id: one.name, label: one.name, hint: one.type }))}
        value={name}
        onChange={(chosen) => {
          setName(chosen);
          setValue(undefined);
        }}
      />
      {column && <RowField key={column.name} column={column} value={value} onChange={setValue} isNew />}
      <Note>{texts.bulk.note}</Note>
    </Dialog>
  );
}
