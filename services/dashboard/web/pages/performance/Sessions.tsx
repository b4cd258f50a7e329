import { useSearch } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock, Figure, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Checkbox } from "../../components/Field.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import { formatBytes, formatNumber, formatPercent, formatSpan, formatTime } from "../../format.ts";
import type { DatabaseStatistics, LockState, RunningSession } from "../../generated/operations.ts";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.sessions;
const names = texts.columns;
const refreshMs = 5_000;

/** Sessions with their statements, the locks that are awaited, and what cancels them. */
export default function Sessions() {
  const [search, changeSearch] = useSearch();
  const hasIdle = search["idle"] === "1";
  const running = useOperation("statistics.running", { include_idle: hasIdle }, {
    refreshEvery: refreshMs,
    keepsPrevious: true,
  });
  const locks = useOperation("statistics.locks", {}, { refreshEvery: refreshMs });
  const database = useOperation("statistics.database", {}, { refreshEvery: refreshMs });
  const open = running.data?.find(({ pid }) => String(pid) === search["pid"]);
  return (
    <>
      {database.data && <Figures database={database.data} />}
      <Card
        title={texts.title}
        actions={
          <Checkbox isSelected={hasIdle} onChange={(isOn) => changeSearch({ idle: isOn ? "1" : null })}>
            {texts.idle}
          </Checkbox>
        }
        isFlush
      >
        <QueryView
          query={running}
          isEmpty={(rows) => rows.length === 0}
          empty={<EmptyState icon="check" title={texts.none} />}
        >
          {(rows) => (
            <DataTable
              label={texts.title}
              columns={sessionColumns}
              rows={rows}
              keyOf={({ pid }) => String(pid)}
              openKey={search["pid"] ?? null}
              onOpen={({ pid }) => changeSearch({ pid: String(pid) }, false)}
            />
          )}
        </QueryView>
      </Card>
      <Card title={texts.locks} isFlush>
        <QueryView
          query={locks}
          isEmpty={(rows) => rows.length === 0}
          empty={<p className="soft performance-none">{texts.noLocks}</p>}
        >
          {(rows) => (
            <DataTable
              label={texts.locks}
              columns={lockColumns}
              rows={rows}
              keyOf={(lock) => [lock.pid, lock.kind, lock.mode, lock.schema, lock.relation].join(" ")}
              onOpen={({ pid }) => changeSearch({ pid: String(pid) }, false)}
            />
          )}
        </QueryView>
      </Card>
      {open && <SessionPanel session={open} onClose={() => changeSearch({ pid: null })} />}
    </>
  );
}

function Figures({ database }: { database: DatabaseStatistics }) {
  const percent = (rate: number | null) => rate === null ? "–" : formatPercent(rate);
  return (
    <div className="figures">
      <Figure
        label={texts.connections}
        value={formatNumber(database.connections_in_use)}
        hint={texts.ofMost(formatNumber(database.max_connections))}
      />
      <Figure label={texts.size} value={formatBytes(database.bytes)} />
      <Figure label={texts.hits} value={percent(database.cache_hit_rate)} />
      <Figure label={texts.indexHits} value={percent(database.index_hit_rate)} />
      <Figure
        label={texts.deadlocks}
        value={formatNumber(database.deadlocks)}
        tone={database.deadlocks > 0 ? "warn" : "neutral"}
      />
    </div>
  );
}

function SessionPanel({ session, onClose }: { session: RunningSession; onClose: () => void }) {
  const { pid, started_at } = session;
  const onDone = (text: string) => ({ ended }: { ended: boolean }) => {
    if (ended) toast.done(text);
    else toast.info(texts.notEnded);
    onClose();
  };
  const invalidates = ["statistics."] as const;
  const cancel = useChange("statistics.cancel", { invalidates, onDone: onDone(texts.cancelled) });
  const terminate = useChange("statistics.terminate", { invalidates, onDone: onDone(texts.terminated) });
  const mayCancel = useMay("statistics.cancel");
  const ask = async (title: string, body: string, change: typeof cancel | typeof terminate) => {
    const sessionNames = [`${pid} ${session.role ?? ""}`.trim()];
    if (await confirm({ title, body, names: sessionNames, action: title })) change.mutate({ pid, started_at });
  };
  return (
    <Dialog
      title={`${names.pid} ${pid}`}
      isOpen
      size="side"
      onClose={onClose}
      footer={mayCancel && (
        <>
          <Button
            variant="danger"
            isPending={terminate.isPending}
            onPress={() => void ask(texts.terminate, texts.terminateText, terminate)}
          >
            {texts.terminate}
          </Button>
          <Button
            icon="stop"
            isPending={cancel.isPending}
            isDisabled={session.state !== "active"}
            onPress={() => void ask(texts.cancel, texts.cancelText, cancel)}
          >
            {texts.cancel}
          </Button>
        </>
      )}
    >
      {session.text && <CodeBlock label={names.text} code={session.text} />}
      <KeyValue
        entries={[
          [names.role, <code key="role">{session.role ?? "–"}</code>],
          [names.state, session.state ?? "–"],
          [names.wait, session.wait ?? "–"],
          [names.blocked, session.blocked_by.join(", ") || "–"],
          [texts.transaction, spanOf(session.transaction_s)],
          [texts.application, session.application || session.backend || "–"],
          [texts.address, session.address ?? "–"],
          [texts.started, started_at === null ? "–" : formatTime(started_at)],
        ]}
      />
    </Dialog>
  );
}

function spanOf(seconds: number | null): string {
  return seconds === null ? "–" : formatSpan(seconds);
}

function Blocked({ by }: { by: readonly number[] }) {
  return by.length > 0 ? <Badge tone="warn">{texts.blockedBy(by.join(", "))}</Badge> : null;
}

const sessionColumns: readonly Column<RunningSession>[] = [
  { id: "pid", title: names.pid, cell: ({ pid }) => <span className="number">{pid}</span>, width: "5rem" },
  {
    id: "text",
    title: names.text,
    cell: ({ text }) => <code className="cut">{text?.replaceAll(/\s+/g, " ") ?? ""}</code>,
    width: "minmax(12rem, 1fr)",
  },
  {
    id: "blocked",
    title: names.blocked,
    cell: ({ blocked_by }) => <Blocked by={blocked_by} />,
    width: "10rem",
    isMinor: true,
  },
  {
    id: "state",
    title: names.state,
    cell: ({ state }) => <span className="cut soft">{state}</span>,
    width: "8.5rem",
    isMinor: true,
  },
  {
    id: "since",
    title: names.since,
    cell: ({ statement_s }) => <span className="number">{spanOf(statement_s)}</span>,
    width: "5rem",
    align: "end",
  },
  {
    id: "role",
    title: names.role,
    cell: ({ role }) => <span className="cut soft">{role}</span>,
    width: "10rem",
    isMinor: true,
  },
];

const lockColumns: readonly Column<LockState>[] = [
  { id: "pid", title: names.pid, cell: ({ pid }) => <span className="number">{pid}</span>, width: "5rem" },
  {
    id: "relation",
    title: names.relation,
    cell: ({ schema, relation, kind }) => (
      <code className="cut">{relation === null ? kind : [schema, relation].filter(Boolean).join(".")}</code>
    ),
    width: "minmax(8rem, 1fr)",
  },
  { id: "mode", title: names.mode, cell: ({ mode }) => <span className="cut">{mode}</span>, width: "12rem" },
  {
    id: "granted",
    title: names.granted,
    cell: ({ is_granted }) => is_granted ? texts.yes : <Badge tone="warn">{texts.no}</Badge>,
    width: "6rem",
  },
  { id: "blocked", title: names.blocked, cell: ({ blocked_by }) => <Blocked by={blocked_by} />, width: "10rem" },
  {
    id: "since",
    title: names.since,
    cell: ({ waits_s }) => <span className="number">{spanOf(waits_s)}</span>,
    width: "5rem",
    align: "end",
  },
];
