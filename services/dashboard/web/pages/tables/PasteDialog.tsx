import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox } from "../../components/Field.tsx";
import { Note } from "../../components/states.tsx";
import type { DescribedTable } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import type { Edits } from "./edits.ts";
import { useSaving } from "./saving.ts";
import { tablesTexts as texts } from "./texts.ts";
import { isWritable, parseTabSeparated } from "./values.ts";

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
  const names = new Set(table.columns.map(({ name }) => name));
  const [hasHeader, setHeader] = useState(lines[0]!.every((cell) => names.has(cell)));
  const writable = table.columns.filter(isWritable).map(({ name }) => name);
  // Cells without a header fill the columns that the database does not fill by itself.
  const unnumbered = table.columns.filter((column) => isWritable(column) && column.identity === null);
  const others = unnumbered.filter(({ default: preset }) => !preset?.startsWith("nextval(")).map(({ name }) => name);
  const columns = hasHeader ? lines[0]! : lines[0]!.length > others.length ? writable : others;
  const used = columns.slice(0, lines[0]!.length);
  const body = hasHeader ? lines.slice(1) : lines;
  const rows = body.map((cells) => {
    const pairs = used.map((name, index) => [name, toValue(cells[index])] as const);
    return Object.fromEntries(pairs.filter(([name]) => writable.includes(name)));
  });
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
      <div className="tables-scroll" tabIndex={0} role="region" aria-label={texts.paste.columns}>
        <table className="tables-compare">
          <thead>
            <tr>{used.map((name, index) => <th key={index} scope="col">{name}</th>)}</tr>
          </thead>
          <tbody>
            {body.slice(0, mostShown).map((cells, line) => (
              <tr key={line}>{used.map((_, index) => <td key={index}>{cells[index]}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      {body.length > mostShown && <p className="faint">+ {body.length - mostShown}</p>}
    </Dialog>
  );
}

/** Empty cells of a spreadsheet are NULL. */
function toValue(cell: string | undefined): string | null {
  return cell === undefined || cell === "" ? null : cell;
}
