import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Note } from "../../components/states.tsx";
import type { DescribedTable } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { type CellRange, pastedChanges } from "./cellRange.ts";
import { type Edits, seenRowOf } from "./edits.ts";
import { useSaving } from "./saving.ts";
import { tablesTexts as texts } from "./texts.ts";
import { parseTabSeparated } from "./values.ts";

const mostShown = 8;

/** Shows which values pasted cells become in a range, then stores them in one transaction. */
export default function RangePasteDialog({ table, text, range, edits, onClose }: {
  table: DescribedTable;
  text: string;
  range: CellRange;
  edits: Edits;
  onClose: () => void;
}) {
  const { changes, columns, isLeftOut } = pastedChanges(range, parseTabSeparated(text));
  const saving = useSaving(async () => {
    await edits.writeRows(changes.map(({ row, values }) => ({ row: seenRowOf(table.columns, row), values })));
    onClose();
  });
  const shown = changes.slice(0, mostShown);
  return (
    <Dialog
      title={texts.range.title(changes.length)}
      isOpen
      size="large"
      onClose={onClose}
      onSubmit={saving.start}
      error={saving.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={columns.length === 0} isPending={saving.isPending}>
            {texts.bulk.action(changes.length)}
          </Button>
        </>
      }
    >
      {isLeftOut && <Note kind="warn">{texts.range.leftOut}</Note>}
      <div className="tables-scroll" tabIndex={0} role="region" aria-label={texts.range.values}>
        <table className="tables-compare">
          <thead>
            <tr>
              <th scope="col">{table.key.join(", ")}</th>
              {columns.map(({ name }) => <th key={name} scope="col">{name}</th>)}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ row, values }, line) => (
              <tr key={line}>
                <th scope="row">{Object.values(row.key).join(", ")}</th>
                {columns.map(({ name }) => <td key={name}>{values[name] ?? texts.grid.null}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {changes.length > mostShown && <p className="faint">+ {changes.length - mostShown}</p>}
      <Note>{texts.bulk.note}</Note>
    </Dialog>
  );
}
