import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox } from "../../components/Field.tsx";
import { Note } from "../../components/states.tsx";
import type { DescribedTable } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import type { Edits } from "./edits.ts";
import { isHeader, pastedRows } from "./paste.ts";
import { useSaving } from "./saving.ts";
import { tablesTexts as texts } from "./texts.ts";
import { parseTabSeparated } from "./values.ts";

const mostRows = 1_000;
const mostShown = 8;

/** Shows which rows the cells of a spreadsheet become, then inserts them. */
export function PasteDialog({ table, text, edits, onClose }: {
  table: DescribedTable;
  text: string;
  edits: Edits;
  onClose: () => void;
}) {
  const lines = parseTabSeparated(text);
  const [hasHeader, setHeader] = useState(isHeader(table, lines[0]!));
  const body = hasHeader ? lines.slice(1) : lines;
  const { columns, rows, isTooWide } = pastedRows(table, lines, hasHeader);
  const saving = useSaving(async () => {
    await edits.insert(rows);
    onClose();
  });
  return (
    <Dialog
      title={texts.paste.title(rows.length)}
      isOpen
      size="large"
      onClose={onClose}
      onSubmit={saving.start}
      error={saving.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button
            type="submit"
            variant="primary"
            isDisabled={rows.length === 0 || rows.length > mostRows}
            isPending={saving.isPending}
          >
            {texts.paste.insert(rows.length)}
          </Button>
        </>
      }
    >
      <p className="soft">{texts.paste.text}</p>
      <Checkbox isSelected={hasHeader} onChange={setHeader}>{texts.paste.hasHeader}</Checkbox>
      {rows.length > mostRows && <Note kind="warn">{texts.paste.tooMany}</Note>}
      {isTooWide && <Note kind="warn">{texts.paste.tooWide}</Note>}
      <div className="tables-scroll" tabIndex={0} role="region" aria-label={texts.paste.columns}>
        <table className="tables-compare">
          <thead>
            <tr>{columns.map((name, index) => <th key={index} scope="col">{name}</th>)}</tr>
          </thead>
          <tbody>
            {body.slice(0, mostShown).map((cells, line) => (
              <tr key={line}>{columns.map((_, index) => <td key={index}>{cells[index]}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      {body.length > mostShown && <p className="faint">+ {body.length - mostShown}</p>}
    </Dialog>
  );
}
