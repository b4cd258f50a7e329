import { useState } from "react";
import { useMay, useOperation } from "../../../api/hooks.ts";
import { Button } from "../../../components/Button.tsx";
import { Checkbox, Field } from "../../../components/Field.tsx";
import { QueryView } from "../../../components/states.tsx";
import type { DescribedTable, PastRow } from "../../../generated/operations.ts";
import { CopyBack } from "./CopyBack.tsx";
import { historyTexts as texts } from "./texts.ts";
import { textOf } from "./versions.ts";

const shownColumns = 4;
/** Versions come from the log of the database, about a second after a change. */
const readAgainMs = 3_000;

/** Rows that changed since a moment, deleted ones too, as they were then; chosen ones are copied back. */
export function RowsSince({ table }: { table: DescribedTable }) {
  const [text, setText] = useState("");
  const time = Date.parse(text); // a time without a zone is one of this browser's
  return (
    <section className="tables-history-row">
      <h3>{texts.changedSince}</h3>
      <Field
        label={texts.changedSince}
        hidesLabel
        type="datetime-local"
        value={text}
        onChange={setText}
        hint={texts.sinceHint(Intl.DateTimeFormat().resolvedOptions().timeZone)}
      />
      {!Number.isNaN(time) && <Rows key={text} table={table} moment={new Date(time).toISOString()} />}
    </section>
  );
}

function Rows({ table, moment }: { table: DescribedTable; moment: string }) {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [isComparing, setComparing] = useState(false);
  const mayCopy = useMay("history.copy_rows");
  const past = useOperation(
    "history.rows_at",
    { schema: table.schema, table: table.name, moment },
    { refreshEvery: readAgainMs, staleAfter: 0 },
  );
  return (
    <QueryView
      query={past}
      isEmpty={({ rows }) => rows.length === 0}
      empty={<p className="soft">{texts.sinceNone}</p>}
    >
      {({ rows, is_cut: isCut }) => (
        <>
          <ul className="tables-history-rows" aria-label={texts.changedSince}>
            {rows.map((row) => (
              <li key={row.key}>
                {mayCopy && row.state !== "unknown"
                  ? (
                    <Checkbox
                      isSelected={chosen.includes(row.key)}
                      onChange={(isOn) =>
                        setChosen(isOn ? [...chosen, row.key] : chosen.filter((key) => key !== row.key))}
                    >
                      {texts.choose(row.key)}
                    </Checkbox>
                  )
                  : <code>{row.key}</code>}
                <p className="soft tables-history-past">{wordsOf(row)}</p>
              </li>
            ))}
          </ul>
          {isCut && <p className="soft">{texts.sinceCut}</p>}
          {mayCopy && (
            <span>
              <Button icon="restore" isDisabled={chosen.length === 0} onPress={() => setComparing(true)}>
                {texts.compare(chosen.length)}
              </Button>
            </span>
          )}
          {isComparing && <CopyBack table={table} moment={moment} keys={chosen} onClose={() => setComparing(false)} />}
        </>
      )}
    </QueryView>
  );
}

/** A past row in words: its first columns. */
function wordsOf({ state, values = {}, reason = "" }: PastRow): string {
  if (state === "absent") return texts.wasAbsent;
  if (state === "unknown") return texts.wasUnknown(reason);
  const columns = Object.entries(values);
  const shown = columns.slice(0, shownColumns).map(([column, value]) => `${column} = ${textOf(value) ?? "NULL"}`);
  return `${texts.wasRow} ${shown.join(", ")}${columns.length > shownColumns ? ", …" : ""}`;
}
