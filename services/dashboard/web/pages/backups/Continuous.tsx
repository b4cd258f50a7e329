import { useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock, Figure, KeyValue } from "../../components/basics.tsx";
import { CodeWords } from "../../components/CodeWords.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes, formatSpan, formatTime } from "../../format.ts";
import type { ContinuousBackup, DrillStatus, StoredBase } from "../../generated/operations.ts";
import { RestoreMoment } from "./RestoreMoment.tsx";
import { backupsTexts } from "./texts.ts";
import { Timeline } from "./Timeline.tsx";

const texts = backupsTexts.continuous;
const tones = {
  off: "neutral",
  starting: "accent",
  good: "good",
  behind: "warn",
  failing: "bad",
  silent: "bad",
} as const;
const switchOn = `headwater keys --backup >> .env
echo "HEADWATER_BACKUP_CONTINUOUS=true" >> .env
echo "HEADWATER_BACKUP_PATH=/mnt/other-disk/archive" >> .env
headwater stop && headwater start --detach`;

/** Continuous backup: how old the last stored moment is, what can be restored, and the commands that restore it. */
export default function Continuous() {
  const backup = useOperation("backups.continuous", {}, { refreshEvery: 5_000 });
  return (
    <QueryView query={backup}>
      {(data) => data.state === "off" && data.archive === "" ? <Off /> : <State backup={data} />}
    </QueryView>
  );
}

function Off() {
  return (
    <Card>
      <EmptyState icon="clock" title={texts.off}>{texts.offText}</EmptyState>
      <div className="backups-commands">
        <CodeBlock label={texts.offCommands} code={switchOn} />
        <p className="soft">{texts.offHint}</p>
      </div>
    </Card>
  );
}

function State({ backup }: { backup: ContinuousBackup }) {
  const { state, fault, oldest, covered_until } = backup;
  const note = state === "off" ? texts.earlier : texts.notes[state];
  return (
    <>
      {note !== "" && (
        <Note kind={state === "off" || state === "starting" ? "info" : "warn"}>
          {fault && state !== "off" && <p className="backups-fault">{fault}</p>}
          <p>
            <CodeWords text={note} />
          </p>
        </Note>
      )}
      {!backup.is_on_this_machine && (
        <Note>
          <CodeWords text={texts.elsewhere} />
        </Note>
      )}
      <Figures backup={backup} />
      {oldest != null && covered_until != null && (
        <Timeline oldest={oldest} until={covered_until} bases={backup.bases ?? []} />
      )}
      {oldest != null && covered_until != null && (
        <RestoreMoment
          oldest={oldest}
          until={covered_until}
          archive={backup.archive ?? ""}
          command={backup.command ?? ""}
        />
      )}
      <Card title={texts.bases} isFlush>
        {(backup.bases ?? []).length === 0
          ? <p className="soft backups-none">{texts.basesNone}</p>
          : <DataTable label={texts.bases} columns={columns} rows={backup.bases ?? []} keyOf={({ name }) => name} />}
      </Card>
      <Facts backup={backup} />
    </>
  );
}

function Figures({ backup }: { backup: ContinuousBackup }) {
  const { state, lag_s, oldest, covered_until, base_at, base_running } = backup;
  const names = texts.figures;
  const span = oldest != null && covered_until != null ? covered_until - oldest : null;
  const tone = state === "good" || state === "off" || state === "starting" ? "neutral" : tones[state];
  return (
    <div className="figures">
      <Figure
        label={names.lag}
        value={lag_s == null ? "–" : texts.ago(formatSpan(lag_s))}
        hint={<Badge tone={tones[state]}>{texts.states[state]}</Badge>}
        tone={tone}
      />
      <Figure
        label={names.span}
        value={span === null ? "–" : formatSpan(Math.max(0, span))}
        hint={span === null ? names.noSpan : names.spanHint(formatSpan(backup.retention_s))}
      />
      <Figure
        label={names.base}
        value={base_at == null ? "–" : <Time value={base_at} />}
        hint={base_running ? names.baseRunning : names.baseEvery(formatSpan(backup.base_interval_s))}
      />
      <Figure
        label={names.waiting}
        value={formatBytes(backup.waiting_bytes ?? 0)}
        hint={names.waitingHint(formatBytes(backup.wal_limit_bytes))}
      />
    </div>
  );
}

function Facts({ backup }: { backup: ContinuousBackup }) {
  return (
    <Card title={texts.facts}>
      <KeyValue
        entries={[
          ...backup.place ? [[texts.place, <code key="place">{backup.place}</code>] as const] : [],
          ...backup.archive ? [[texts.archive, <code key="archive">{backup.archive}</code>] as const] : [],
          [texts.retention, formatSpan(backup.retention_s)],
          ...backup.drill ? [[texts.drill, <Drill key="drill" drill={backup.drill} />] as const] : [],
        ]}
      />
    </Card>
  );
}

function Drill({ drill }: { drill: DrillStatus }) {
  const [fault, ...more] = drill.faults;
  return (
    <>
      <Time value={drill.began_at} />
      <p className={fault ? "backups-fault" : "soft"}>
        {fault
          ? texts.drillFailed(fault, more.length)
          : texts.drillPassed(formatSpan(drill.seconds), drill.tables ?? 0, drill.rows ?? 0)}
      </p>
      {drill.unsent && <p className="soft">{texts.drillUnsent(drill.unsent)}</p>}
    </>
  );
}

const columns: readonly Column<StoredBase>[] = [
  {
    id: "began",
    title: texts.began,
    cell: ({ began_at }) => <span className="cut">{formatTime(began_at)}</span>,
    width: "minmax(10rem, 1fr)",
  },
  {
    id: "took",
    title: texts.took,
    cell: ({ began_at, ended_at }) => <span className="number">{formatSpan(ended_at - began_at)}</span>,
    width: "6rem",
    align: "end",
    isMinor: true,
  },
  {
    id: "size",
    title: texts.size,
    cell: ({ bytes }) => <span className="number">{formatBytes(bytes)}</span>,
    width: "6rem",
    align: "end",
  },
  {
    id: "kind",
    title: texts.kind,
    cell: ({ parent }) => <span className="faint">{parent ? texts.incremental : texts.full}</span>,
    width: "7rem",
    isMinor: true,
  },
  {
    id: "name",
    title: texts.baseName,
    cell: ({ name }) => <code className="cut faint">{name}</code>,
    isMinor: true,
  },
];
