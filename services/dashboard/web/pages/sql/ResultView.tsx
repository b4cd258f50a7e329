import { lazy, Suspense, useRef, useState } from "react";
import { openStream, streamLines } from "../../api/client.ts";
import { isStopped } from "../../api/errors.ts";
import { ToggleButton } from "react-aria-components/ToggleButton";
import { Icon } from "../../components/Icon.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { Menu } from "../../components/Menu.tsx";
import { Loading, Note } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import type { StatementResult } from "../../generated/operations.ts";
import { formatMs, formatNumber } from "../../format.ts";
import { type Cells, cellsOf, csvOf, jsonOf, type Rows, saveFile } from "./result.ts";
import { ResultGrid } from "./ResultGrid.tsx";
import { sqlTexts as texts } from "./texts.ts";
import type { Outcome } from "./useSqlRun.tsx";

const ResultChart = lazy(() => import("./ResultChart.tsx"));
const mostStreamed = 200_000;

/** One statement's result: its rows as a table or a chart, what was cut, notices, and copies of it. */
export function ResultView({ result, outcome }: { result: StatementResult; outcome: Outcome }) {
  const [isChart, setChart] = useState(false);
  const stream = useStream(result, outcome);
  const rows: Rows = { columns: result.columns, rows: stream.rows ?? result.rows };
  return (
    <div className="sql-result">
      {result.notices.map((notice, index) => (
        <Note key={index} kind={notice.severity === "WARNING" ? "warn" : "info"}>
          {notice.severity}: {notice.message} {notice.details} {notice.hint}
        </Note>
      ))}
      {result.columns.length === 0 ? <p className="sql-done">{texts.done(result.tag)}</p> : (
        <>
          <div className="sql-result-bar">
            <span className="soft number">
              {rows.rows.length === 1 ? texts.oneRow : texts.rows(formatNumber(rows.rows.length))} ·{" "}
              {formatMs(result.duration_ms)}
            </span>
            <CutNote result={result} outcome={outcome} stream={stream} />
            <span className="sql-space" />
            <ToggleButton className="button button-quiet button-small" isSelected={isChart} onChange={setChart}>
              <Icon name="activity" />
              {texts.chart}
            </ToggleButton>
            <ResultMenu rows={rows} />
          </div>
          {isChart
            ? (
              <Suspense fallback={<Loading />}>
                <ResultChart result={rows} />
              </Suspense>
            )
            : <ResultGrid result={rows} />}
        </>
      )}
    </div>
  );
}

type Stream = ReturnType<typeof useStream>;

/** Rows of `sql.stream`, up to the most that the page holds. */
function useStream(result: StatementResult, outcome: Outcome) {
  const [rows, setRows] = useState<readonly Cells[] | null>(null);
  const [isRunning, setRunning] = useState(false);
  const [isFull, setFull] = useState(false);
  const [wasStopped, setStopped] = useState(false);
  const stopper = useRef<AbortController | null>(null);
  const args = { sql: outcome.sql, view_as: outcome.options.viewAs, timeout_s: outcome.options.timeoutS };

  const start = async () => {
    const stop = stopper.current = new AbortController();
    const read: Cells[] = [];
    let shownAt = performance.now();
    setRunning(true);
    setStopped(false);
    try {
      for await (const object of streamLines("sql.stream", args, { signal: stop.signal })) {
        read.push(cellsOf(object, result.columns));
        if (read.length >= mostStreamed) {
          setFull(true);
          break;
        }
        if (performance.now() - shownAt > 250) {
          setRows([...read]);
          shownAt = performance.now();
        }
      }
    } catch (error) {
      setStopped(true);
      if (!isStopped(error)) toast.error(error);
    } finally {
      setRunning(false);
      if (read.length > 0) setRows(read);
    }
  };
  const save = async () => {
    try {
      saveFile("result.ndjson", await (await openStream("sql.stream", args)).blob());
    } catch (error) {
      if (!isStopped(error)) toast.error(error);
    }
  };
  return { rows, isRunning, isFull, wasStopped, start, save, stop: () => stopper.current?.abort() };
}

function CutNote({ result, outcome, stream }: { result: StatementResult; outcome: Outcome; stream: Stream }) {
  const isAlone = outcome.results.length === 1 && outcome.options.isReadOnly;
  const areNamesOwn = new Set(result.columns.map((column) => column.name)).size === result.columns.length;
  if (stream.isRunning) {
    return (
      <span className="sql-cut" role="status">
        {texts.streaming(formatNumber(stream.rows?.length ?? 0))}
        <Button size="small" onPress={stream.stop}>{texts.stop}</Button>
      </span>
    );
  }
  const wasCut = result.is_truncated && stream.rows === null;
  return (
    <>
      {stream.isFull && <span className="sql-cut">{texts.streamCut(formatNumber(mostStreamed))}</span>}
      {stream.wasStopped && stream.rows !== null && (
        <span className="sql-cut">{texts.streamStopped(formatNumber(stream.rows.length))}</span>
      )}
      {wasCut && <span className="sql-cut">{texts.cut(formatNumber(result.rows.length))}</span>}
      {result.shortened.length > 0 && stream.rows === null && (
        <span className="sql-cut">{texts.cutCells(result.shortened.length)}</span>
      )}
      {isAlone && areNamesOwn && (wasCut || (result.shortened.length > 0 && stream.rows === null)) && (
        <Button
          size="small"
          onPress={() => void stream.start()}
        >
          {texts.stream}
        </Button>
      )}
      {isAlone && (wasCut || stream.isFull || (stream.wasStopped && stream.rows !== null)) && (
        <Button
          size="small"
          icon="download"
          onPress={() => void stream.save()}
        >
          {texts.saveAll}
        </Button>
      )}
    </>
  );
}

function ResultMenu({ rows }: { rows: Rows }) {
  const copy = (text: string) => void navigator.clipboard.writeText(text).then(() => toast.done(texts.copied));
  const save = (name: string, type: string, text: string) => saveFile(name, new Blob([text], { type }));
  return (
    <Menu
      label={texts.exports}
      button={<IconButton icon="download" label={texts.exports} size="small" />}
      entries={[
        { id: "copy-csv", label: texts.copyCsv, icon: "copy", onAction: () => copy(csvOf(rows)) },
        { id: "copy-json", label: texts.copyJson, icon: "copy", onAction: () => copy(jsonOf(rows)) },
        {
          id: "csv",
          label: texts.saveCsv,
          icon: "download",
          onAction: () => save("result.csv", "text/csv", csvOf(rows)),
        },
        {
          id: "json",
          label: texts.saveJson,
          icon: "download",
          onAction: () => save("result.json", "application/json", jsonOf(rows)),
        },
      ]}
    />
  );
}
