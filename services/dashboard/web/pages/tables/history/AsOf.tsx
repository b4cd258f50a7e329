import { useState } from "react";
import { Button } from "../../../components/Button.tsx";
import { Field } from "../../../components/Field.tsx";
import { Note } from "../../../components/states.tsx";
import { formatTime } from "../../../format.ts";
import type { VersionsOfRow } from "../../../generated/operations.ts";
import { Shown } from "../ConflictDialog.tsx";
import { type PastRow, rowAt } from "./asOf.ts";
import { historyTexts as texts } from "./texts.ts";

/** The row as it was at a moment that is chosen, by its versions. `onCopy` gets the moment where the row can be copied back. */
export function AsOf({ history, onCopy }: { history: VersionsOfRow; onCopy: ((moment: string) => void) | null }) {
  const [text, setText] = useState("");
  const moment = Date.parse(text); // a time without a zone is one of this browser's
  const past = Number.isNaN(moment) ? null : rowAt(history, moment);
  return (
    <div className="tables-history-asof">
      <Field
        label={texts.asOf}
        type="datetime-local"
        value={text}
        onChange={setText}
        hint={texts.asOfHint(Intl.DateTimeFormat().resolvedOptions().timeZone)}
      />
      {past && <Past row={past} time={formatTime(new Date(moment).toISOString())} />}
      {past && past.kind !== "unknown" && onCopy && (
        <span>
          <Button size="small" icon="restore" onPress={() => onCopy(new Date(moment).toISOString())}>
            {texts.copyRow}
          </Button>
        </span>
      )}
    </div>
  );
}

function Past({ row, time }: { row: PastRow; time: string }) {
  if (row.kind === "unknown") return <Note kind="warn">{texts.asOfUnknown}</Note>;
  return (
    <>
      {!row.isSure && <Note kind="warn">{texts.asOfUnsure}</Note>}
      {row.kind === "absent"
        ? <p>{texts.asOfAbsent(time)}</p>
        : (
          <div className="tables-scroll" tabIndex={0} role="region" aria-label={texts.asOfValues(time)}>
            <table className="tables-compare">
              <thead>
                <tr>
                  <th>{texts.column}</th>
                  <th>{texts.value}</th>
                </tr>
              </thead>
              <tbody>
                {row.values.map(([column, value]) => (
                  <tr key={column}>
                    <th scope="row">{column}</th>
                    <td>
                      <Shown value={value} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            {row.unknown.length > 0 && <p className="soft">{texts.asOfOmitted(row.unknown.join(", "))}</p>}
          </div>
        )}
    </>
  );
}
