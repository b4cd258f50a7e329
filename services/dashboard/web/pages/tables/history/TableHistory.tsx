import { useState } from "react";
import { useChange, useMay, useOperation } from "../../../api/hooks.ts";
import { Badge, KeyValue } from "../../../components/basics.tsx";
import { Button } from "../../../components/Button.tsx";
import { confirm, Dialog } from "../../../components/Dialog.tsx";
import { Field } from "../../../components/Field.tsx";
import { Note, QueryView } from "../../../components/states.tsx";
import { Time } from "../../../components/Time.tsx";
import { formatBytes, formatTime } from "../../../format.ts";
import type { DescribedTable, HistoryTable, RowOfPage } from "../../../generated/operations.ts";
import { texts as shellTexts } from "../../../texts.ts";
import { HistorySwitch } from "./HistorySwitch.tsx";
import RowHistory from "./RowHistory.tsx";
import { RowsSince } from "./RowsSince.tsx";
import { historyTexts as texts } from "./texts.ts";
import "./history.css";

/** The history of a table: its state, its switch, and versions of a row by its key, which may be deleted. */
export default function TableHistory({ table, onClose }: { table: DescribedTable; onClose: () => void }) {
  const tables = useOperation("history.tables", {}, { staleAfter: 0 });
  return (
    <Dialog
      title={texts.title(table.name)}
      isOpen
      size="side"
      onClose={onClose}
      footer={<Button onPress={onClose}>{shellTexts.actions.close}</Button>}
    >
      <QueryView query={tables}>
        {(all) => {
          const history = all.find((one) => one.schema === table.schema && one.table === table.name);
          return (
            <>
              {history ? <State history={history} /> : <p>{texts.off}. {texts.offHint}</p>}
              <HistorySwitch
                key={history?.is_on ? history.days : "off"}
                table={table}
                days={history?.is_on ? history.days : null}
              />
              {history?.is_on && <RowsSince table={table} />}
              {history && <RowByKey table={table} names={history.key} />}
            </>
          );
        }}
      </QueryView>
    </Dialog>
  );
}

function State({ history }: { history: HistoryTable }) {
  return (
    <>
      <KeyValue
        entries={[
          [
            texts.state,
            <Badge key="state" tone={history.is_on ? "good" : "neutral"}>
              {history.is_on ? texts.on : texts.isOff}
            </Badge>,
          ],
          [texts.since, <Time key="since" value={history.since} />],
          [texts.size, formatBytes(history.size_bytes)],
        ]}
      />
      {history.is_on ? <p className="soft">{texts.kept(history.days)}</p> : <Note kind="warn">{texts.stopped}</Note>}
      {history.gaps.map((gap) => <Note key={gap.at} kind="warn">{texts.gap(formatTime(gap.at), gap.reason)}</Note>)}
    </>
  );
}

function RowByKey({ table, names }: { table: DescribedTable; names: readonly string[] }) {
  const [typed, setTyped] = useState<{ readonly [column: string]: string }>({});
  const [key, setKey] = useState<RowOfPage["key"] | null>(null);
  const mayErase = useMay("history.erase");
  const erase = useChange("history.erase", {
    invalidates: ["history."],
    doneText: ({ versions }) => texts.erased(versions),
  });
  const onErase = async () => {
    if (!key || !await isErasureConfirmed(key)) return;
    erase.mutate({ schema: table.schema, table: table.name, key });
  };
  const isWhole = names.every((name) => typed[name]);
  return (
    <section className="tables-history-row">
      <h3>{texts.byKey}</h3>
      <form
        className="tables-history-key"
        onSubmit={(event) => {
          event.preventDefault();
          if (isWhole) setKey(Object.fromEntries(names.map((name) => [name, typed[name] ?? ""])));
        }}
      >
        {names.map((name) => (
          <Field
            key={name}
            label={name}
            value={typed[name] ?? ""}
            onChange={(value) => setTyped({ ...typed, [name]: value })}
            autoComplete="off"
            isCode
          />
        ))}
        <Button type="submit" isDisabled={!isWhole}>{texts.find}</Button>
      </form>
      <p className="hint">{texts.byKeyHint}</p>
      {key && (
        <>
          <RowHistory key={JSON.stringify(key)} table={table} rowKey={key} onUndone={() => undefined} />
          {mayErase && (
            <span>
              <Button size="small" icon="trash" onPress={() => void onErase()}>{texts.erase}</Button>
            </span>
          )}
        </>
      )}
    </section>
  );
}

function isErasureConfirmed(key: RowOfPage["key"]): Promise<boolean> {
  return confirm({
    title: texts.eraseTitle,
    body: texts.eraseText,
    names: [Object.entries(key).map(([column, value]) => `${column} = ${value}`).join(", ")],
    action: texts.erase,
  });
}
