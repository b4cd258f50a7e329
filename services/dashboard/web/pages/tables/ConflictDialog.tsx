import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import type { Edits } from "./edits.ts";
import { reportError } from "./edits.ts";
import type { RowWindow } from "./rowWindow.ts";
import { tablesTexts as texts } from "./texts.ts";
import type { TextValue } from "./values.ts";

/** Explains that a newer version of a row is stored: what was seen, what is there now, what would be written. */
export function ConflictDialog({ edits, rowWindow }: { edits: Edits; rowWindow: RowWindow }) {
  const { conflict } = edits;
  if (!conflict) return null;
  const { present, row, mine } = conflict;
  const changed = present
    ? Object.keys({ ...present.values }).filter((column) =>
      Object.hasOwn(mine, column) || (Object.hasOwn(row.seen, column) && row.seen[column] !== present.values[column])
    )
    : [];
  const reload = () => {
    if (present) rowWindow.replaceRows([{ from: row.key, to: present }]);
    edits.closeConflict();
    void edits.readAgain();
  };
  const overwrite = () => {
    if (!present) return;
    edits.closeConflict();
    edits.write({ key: present.key, version: present.version, seen: present.values }, mine).catch(reportError);
  };
  return (
    <Dialog
      title={present ? texts.conflict.title : texts.conflict.gone}
      isOpen
      onClose={edits.closeConflict}
      footer={
        <>
          {present && <Button onPress={overwrite}>{texts.conflict.overwrite}</Button>}
          <Button variant="primary" onPress={reload}>{texts.conflict.reload}</Button>
        </>
      }
    >
      <p>{present ? texts.conflict.text : texts.conflict.goneText}</p>
      {present && (
        <div className="tables-scroll" tabIndex={0} role="region" aria-label={texts.conflict.title}>
          <table className="tables-compare">
            <thead>
              <tr>
                <th>{texts.conflict.column}</th>
                <th>{texts.conflict.seen}</th>
                <th>{texts.conflict.now}</th>
                <th>{texts.conflict.yours}</th>
              </tr>
            </thead>
            <tbody>
              {changed.map((column) => (
                <tr key={column}>
                  <th scope="row">{column}</th>
                  <td>{Object.hasOwn(row.seen, column) ? <Shown value={row.seen[column] ?? null} /> : "…"}</td>
                  <td>
                    <Shown value={present.values[column] ?? null} />
                  </td>
                  <td>{Object.hasOwn(mine, column) && <Shown value={mine[column] ?? null} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Dialog>
  );
}

/** A value in a sentence or a small table. */
export function Shown({ value }: { value: TextValue }) {
  return value === null
    ? <span className="tables-null">{texts.grid.null}</span>
    : <span className="tables-value">{value}</span>;
}
