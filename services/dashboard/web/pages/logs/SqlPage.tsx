import { useMemo, useState } from "react";
import { Link, useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { CodeWords } from "../../components/CodeWords.tsx";
import { Select } from "../../components/Select.tsx";
import { Loading, Note, QueryView } from "../../components/states.tsx";
import { formatNumber } from "../../format.ts";
import type { LogSqlResult } from "../../generated/operations.ts";
import { ResultGrid } from "../sql/ResultGrid.tsx";
import { examples } from "./examples.ts";
import { Filters } from "./Filters.tsx";
import { useArguments } from "./filters.ts";
import { logsTexts } from "./texts.ts";

const texts = logsTexts.sql;
const counts = [5_000, 20_000, 50_000] as const;
const usualCount = "20000";
const columns = {
  lines: [
    "id",
    "at",
    "at_ms",
    "level",
    "process",
    "kind",
    "area",
    "status",
    "user",
    "function",
    "request_id",
    "duration_ms",
    "text",
    "fields",
  ],
} as const;

/** A SELECT over the lines that the filters choose. It stands in the address once it has run. */
export function SqlPage() {
  const [search, changeSearch] = useSearch();
  const asked = search["sql"] ?? "";
  const [text, setText] = useState(asked || examples[0].sql);
  const [now, setNow] = useState(() => Date.now());
  const args = useArguments(now);
  const lines = search["lines"] ?? usualCount;
  const result = useOperation("logs.sql", { ...args, sql: asked, lines: Number(lines) }, {
    isEnabled: asked !== "",
    staleAfter: Infinity,
  });
  const run = () => {
    setNow(Date.now());
    changeSearch({ sql: text });
  };
  return (
    <div className="fill logs">
      <PageHeader title={texts.title} actions={<Link to="logs">{logsTexts.back}</Link>}>
        <CodeWords text={texts.lead} />
      </PageHeader>
      <section className="card card-flush logs-card">
        <Filters />
        <CodeEditor
          label={texts.editor}
          value={text}
          onChange={setText}
          language="sql"
          schema={columns}
          onRun={run}
          minHeight="6rem"
          maxHeight="14rem"
        />
        <div className="logs-sql-bar" role="group" aria-label={texts.actions}>
          <Button variant="primary" icon="play" isDisabled={!text.trim()} isPending={result.isFetching} onPress={run}>
            {texts.run}
          </Button>
          <Select
            label={texts.example}
            hidesLabel
            choices={examples.map(({ id }) => ({ id, label: texts.examples[id] }))}
            value={examples.find(({ sql }) => sql === text)?.id ?? null}
            onChange={(id) => setText(examples.find((example) => example.id === id)?.sql ?? text)}
          />
          <Select
            label={texts.count}
            hidesLabel
            choices={counts.map((count) => ({ id: String(count), label: texts.newest(formatNumber(count)) }))}
            value={lines}
            onChange={(id) => changeSearch({ lines: id === usualCount ? null : id })}
          />
        </div>
        {asked !== "" && (
          <QueryView query={result} loading={<Loading label={texts.running} />}>
            {(rows) => <Result result={rows} />}
          </QueryView>
        )}
      </section>
    </div>
  );
}

function Result({ result }: { result: LogSqlResult }) {
  const rows = useMemo(() => ({
    columns: result.columns.map((name, index) => ({
      name,
      type: result.rows.length > 0 && result.rows.every((row) => typeof (row[index] ?? 0) === "number")
        ? "numeric"
        : "text",
    })),
    rows: result.rows.map((row) => row.map((value) => value === null || value === undefined ? null : String(value))),
  }), [result]);
  return (
    <>
      <p className="soft logs-sql-read">
        {texts.read(formatNumber(result.rows.length), formatNumber(result.lines_read))}
      </p>
      {!result.is_complete && <Note>{texts.notAll}</Note>}
      {result.is_cut && <Note>{texts.cut}</Note>}
      <div className="logs-list">
        <ResultGrid result={rows} label={texts.result} />
      </div>
    </>
  );
}
