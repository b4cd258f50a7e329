import { useState } from "react";
import { Link, useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card, CopyButton, Figure, PageHeader } from "../../components/basics.tsx";
import { IconButton } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import { formatMs, formatTime } from "../../format.ts";
import type { LogLineView } from "../../generated/operations.ts";
import { Level } from "./Level.tsx";
import { LineDetails } from "./LineDetails.tsx";
import { logsTexts as texts } from "./texts.ts";

/** A line with when its part of the request began and how long it took, in ms. */
interface Step {
  line: LogLineView;
  part: string;
  begins: number;
  took: number;
}

/** All lines of a request, in the order in which its parts began. */
export function RequestTrace({ id }: { id: string }) {
  const [search, changeSearch] = useSearch();
  const request = useOperation("logs.request", { id }, { staleAfter: 0 });
  return (
    <>
      <PageHeader
        title={texts.traceTitle(id)}
        info={<CopyButton text={id} />}
        actions={<Link to="logs">{texts.back}</Link>}
      >
        {texts.traceLead}
      </PageHeader>
      <QueryView
        query={request}
        isEmpty={({ lines }) => lines.length === 0}
        empty={
          <Card>
            <EmptyState
              icon="search"
              title={texts.traceNone}
              action={<IconButton icon="refresh" label={texts.refresh} onPress={() => void request.refetch()} />}
            >
              {texts.traceNoneHint}
            </EmptyState>
          </Card>
        }
      >
        {({ lines, is_complete }) => (
          <>
            {!is_complete && <Note kind="warn">{texts.tracePart}</Note>}
            <Steps
              steps={stepsOf(lines)}
              openKey={search["line"] ?? null}
              onOpen={(line) => changeSearch({ line }, false)}
            />
            <OpenLine lines={lines} />
          </>
        )}
      </QueryView>
    </>
  );
}

function OpenLine({ lines }: { lines: readonly LogLineView[] }) {
  const [search, changeSearch] = useSearch();
  const line = lines.find(({ id }) => id === search["line"]);
  return line ? <LineDetails line={line} onClose={() => changeSearch({ line: null })} /> : null;
}

function Steps(
  { steps, openKey, onOpen }: { steps: readonly Step[]; openKey: string | null; onOpen: (id: string) => void },
) {
  const [first] = useState(() => steps[0]!.line.at);
  const total = Math.max(1, ...steps.map(({ begins, took }) => begins + took));
  const served = steps.find(({ part }) => part === texts.parts.gateway)?.line;
  const sqlMs = steps.reduce((sum, { line }) => sum + numberOf(line.fields?.["sql_ms"]), 0);
  return (
    <>
      <div className="figures">
        <Figure label={texts.columns.status} value={served?.status || "–"} tone={toneOf(served?.status ?? 0)} />
        <Figure label={texts.whole} value={formatMs(served?.duration_ms || total)} hint={served?.text ?? ""} />
        <Figure label={texts.parts.sql} value={sqlMs ? formatMs(sqlMs) : "–"} />
        <Figure label={texts.lines} value={steps.length} hint={formatTime(first)} />
      </div>
      <Card isFlush>
        <DataTable
          label={texts.lines}
          columns={columnsOf(total)}
          rows={steps}
          keyOf={({ line }) => line.id}
          openKey={openKey}
          onOpen={({ line }) => onOpen(line.id)}
        />
      </Card>
    </>
  );
}

function columnsOf(total: number): readonly Column<Step>[] {
  return [
    { id: "part", title: texts.part, cell: ({ part }) => <Badge tone="accent">{part}</Badge>, width: "6.5rem" },
    {
      id: "begins",
      title: texts.begins,
      cell: ({ begins }) => <span className="number soft">+{formatMs(begins)}</span>,
      width: "5.5rem",
      align: "end",
      isMinor: true,
    },
    {
      id: "took",
      title: texts.columns.took,
      cell: ({ took }) => took > 0 ? <span className="number">{formatMs(took)}</span> : "",
      width: "5rem",
      align: "end",
    },
    {
      id: "timeline",
      title: texts.timeline,
      cell: (step) => <Bar step={step} total={total} />,
      width: "minmax(6rem, 1fr)",
      isMinor: true,
    },
    { id: "level", title: texts.columns.level, cell: ({ line }) => <Level level={line.level} />, width: "5.5rem" },
    {
      id: "text",
      title: texts.columns.text,
      cell: ({ line }) => <code className="cut">{line.text}</code>,
      width: "minmax(12rem, 2fr)",
    },
  ];
}

function Bar({ step, total }: { step: Step; total: number }) {
  const share = (ms: number) => `${Math.min(100, ms / total * 100)}%`;
  return (
    <span className="logs-track" aria-hidden="true">
      <span className="logs-bar" style={{ marginInlineStart: share(step.begins), width: share(step.took) }} />
    </span>
  );
}

/** A line is written at the end of what it is about: it began `duration_ms` before. The whole stands before its parts. */
function stepsOf(lines: readonly LogLineView[]): readonly Step[] {
  const begins = lines.map((line) => new Date(line.at).getTime() - (line.duration_ms ?? 0));
  const first = Math.min(...begins);
  const order = Object.values(texts.parts);
  const rank = (part: string) => (order.indexOf(part) + order.length + 1) % (order.length + 1);
  return lines
    .map((line, index) => ({ line, part: partOf(line), begins: begins[index]! - first, took: line.duration_ms ?? 0 }))
    .sort((one, other) => rank(one.part) - rank(other.part) || one.begins - other.begins);
}

function partOf({ kind, process }: LogLineView): string {
  if (kind === "RequestServed") return texts.parts.gateway;
  if (kind === "RequestAnswered") return texts.parts.pool;
  if (kind === "StatementFailed" || kind === "TransactionSlow") return texts.parts.sql;
  if (kind === "RequestReachedSockets") return texts.parts.sockets;
  if (kind === "RequestReachedWebhook") return texts.parts.webhook;
  return kind.startsWith("function ") ? texts.parts.function : process;
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function toneOf(status: number) {
  return status >= 500 ? "bad" as const : status >= 400 ? "warn" as const : "neutral" as const;
}
