import { lazy, Suspense } from "react";
import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card, Figure, PageHeader } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Loading, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes, formatMs, formatNumber, formatPercent, formatSpan } from "../../format.ts";
import type { PlatformHealth, PoolHealth, ProcessHealth } from "../../generated/operations.ts";
import { withPageStyles } from "../../shell/pageStyles.ts";
import { CodeWords } from "../../components/CodeWords.tsx";
import { Icon } from "../../components/Icon.tsx";
import { Advice } from "./Advice.tsx";
import { findingsOf } from "./attention.ts";
import { Connect } from "./Connect.tsx";
import { FirstSteps } from "./FirstSteps.tsx";
import { useHourFigures } from "./hourFigures.ts";
import { homeTexts as texts } from "./texts.ts";

const LastHour = lazy(() => withPageStyles(import("./LastHour.tsx")));
const hourS = 3_600;
const refreshMs = 10_000;
const tones = { up: "good", down: "bad", off: "neutral", waiting: "neutral" } as const;

/** The first page: whether everything runs, what needs attention, and how applications connect. */
export default function HomePage() {
  const health = useOperation("platform.health", { span_s: hourS }, { refreshEvery: refreshMs });
  const [search] = useSearch();
  // Asked for while the charts are being loaded; they find the answer, or wait for it.
  useHourFigures(search["pool"] ?? "");
  return (
    <>
      <PageHeader
        title={texts.title}
        info={health.data && <Badge>{texts.version(health.data.version)}</Badge>}
      />
      <FirstSteps />
      <QueryView query={health}>{(data) => <Health health={data} />}</QueryView>
      <Suspense
        fallback={
          <Card title={texts.hour.title}>
            <Loading />
          </Card>
        }
      >
        <LastHour />
      </Suspense>
      {health.data && <Parts health={health.data} />}
      <Advice />
      <Connect />
    </>
  );
}

function Health({ health }: { health: PlatformHealth }) {
  const continuous = useOperation("backups.continuous", {}, { refreshEvery: refreshMs }).data;
  const findings = findingsOf(health, continuous, Date.now());
  return (
    <>
      <section className={`home-state home-state-${findings.length === 0 ? "good" : "attention"}`}>
        <h2>
          <Icon name={findings.length === 0 ? "check" : "alert"} />
          {findings.length === 0 ? texts.allWell : texts.attention(findings.length)}
        </h2>
        {findings.length > 0 && (
          <ul>
            {findings.map(({ tone, text }) => (
              <li key={text} className={`home-${tone}`}>
                <CodeWords text={text} />
              </li>
            ))}
          </ul>
        )}
      </section>
      <Figures health={health} covered={continuous?.state === "off" ? null : continuous?.covered_until ?? null} />
    </>
  );
}

/** The pools and processes of the platform. */
function Parts({ health }: { health: PlatformHealth }) {
  return (
    <>
      <Card title={texts.pools} isFlush>
        <DataTable label={texts.pools} columns={poolColumns} rows={health.pools} keyOf={({ name }) => name} />
      </Card>
      <Card title={texts.processes} isFlush>
        <DataTable
          label={texts.processes}
          columns={processColumns}
          rows={health.processes}
          keyOf={({ member }) => member}
        />
      </Card>
    </>
  );
}

/** `covered`: the last moment that continuous backup has stored. */
function Figures({ health, covered }: { health: PlatformHealth; covered: number | null }) {
  const { pools, counted_s, database, disk, slot, last_backup } = health;
  const answered = pools.reduce((sum, pool) => sum + pool.answered, 0);
  const errors = pools.reduce((sum, pool) => sum + pool.errors, 0);
  const slowest = pools.reduce<PoolHealth | null>(
    (worst, pool) => pool.p99_ms !== null && pool.p99_ms > (worst?.p99_ms ?? -1) ? pool : worst,
    null,
  );
  const span = counted_s === null ? texts.sinceStart : texts.span(formatSpan(counted_s));
  const names = texts.figures;
  return (
    <div className="figures">
      <Figure label={names.requests} value={formatNumber(answered)} hint={span} />
      <Figure
        label={names.errors}
        value={formatNumber(errors)}
        tone={errors > 0 ? "bad" : "neutral"}
        hint={names.errorRate(formatPercent(answered === 0 ? 0 : errors / answered, 2))}
      />
      <Figure
        label={names.slowest}
        value={slowest?.p99_ms == null ? "–" : formatMs(slowest.p99_ms)}
        hint={slowest?.name ?? span}
      />
      <Figure
        label={names.database}
        value={formatBytes(database.bytes)}
        hint={names.connections(database.connections, database.max_connections)}
      />
      <Figure
        label={names.lag}
        value={slot === null ? "–" : formatBytes(slot.lag_bytes)}
        hint={slot === null ? names.noSlot : names.held(formatBytes(slot.held_bytes))}
      />
      <Figure
        label={names.disk}
        value={disk === null ? "–" : formatBytes(disk.free_bytes)}
        hint={disk === null ? names.unknown : names.ofDisk(formatBytes(disk.total_bytes))}
      />
      <Figure
        label={names.backup}
        value={covered !== null
          ? <Time value={covered} />
          : last_backup === null
          ? "–"
          : <Time value={last_backup.made_at} />}
        hint={covered !== null
          ? names.continuous
          : last_backup === null
          ? names.noBackup
          : formatBytes(last_backup.database_bytes + last_backup.blob_bytes)}
      />
    </div>
  );
}

const count = (value: number) => <span className="number">{formatNumber(value)}</span>;
const duration = (value: number | null) => <span className="number">{value === null ? "–" : formatMs(value)}</span>;

const poolColumns: readonly Column<PoolHealth>[] = [
  { id: "name", title: texts.columns.pool, cell: ({ name }) => name },
  {
    id: "state",
    title: texts.columns.state,
    cell: ({ state }) => <Badge tone={tones[state]}>{texts.states[state]}</Badge>,
    width: "minmax(6rem, 1.2fr)",
  },
  { id: "working", title: texts.columns.working, cell: ({ working }) => count(working), align: "end", isMinor: true },
  { id: "waiting", title: texts.columns.waiting, cell: ({ waiting }) => count(waiting), align: "end", isMinor: true },
  { id: "answered", title: texts.columns.answered, cell: ({ answered }) => count(answered), align: "end" },
  {
    id: "errors",
    title: texts.columns.errors,
    cell: ({ errors }) => <span className={errors > 0 ? "home-bad" : ""}>{count(errors)}</span>,
    align: "end",
    isMinor: true,
  },
  { id: "p50", title: texts.columns.p50, cell: ({ p50_ms }) => duration(p50_ms), align: "end", isMinor: true },
  { id: "p99", title: texts.columns.p99, cell: ({ p99_ms }) => duration(p99_ms), align: "end", isMinor: true },
];

const processColumns: readonly Column<ProcessHealth>[] = [
  { id: "name", title: texts.columns.process, cell: ({ name }) => name },
  {
    id: "serves",
    title: texts.columns.serves,
    cell: ({ pools }) => <span className="soft cut" title={pools.join(", ")}>{pools.join(", ") || "–"}</span>,
    width: "minmax(6rem, 3fr)",
    isMinor: true,
  },
  {
    id: "memory",
    title: texts.columns.memory,
    cell: ({ memory_bytes }) => <span className="number">{formatBytes(memory_bytes)}</span>,
    align: "end",
  },
  {
    id: "cpu",
    title: texts.columns.cpu,
    cell: ({ cpu_s }) => <span className="number">{formatSpan(cpu_s)}</span>,
    align: "end",
    isMinor: true,
  },
  { id: "started", title: texts.columns.started, cell: ({ started_at }) => <Time value={started_at} />, align: "end" },
];
