import { useState } from "react";
import { Link, useGo, useSearch } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { Checkbox } from "../../components/Field.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatMs } from "../../format.ts";
import type { Job, JobRunRow } from "../../generated/operations.ts";
import { JobForm } from "./JobForm.tsx";
import { toneOf } from "./runTone.ts";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.cron;
const refreshMs = 5_000;

/** A job: its schedule in words, its SQL, its runs with their errors. */
export function JobView({ job }: { job: Job }) {
  const name = job.name ?? `#${job.id}`;
  return (
    <>
      <p className="jobs-path">
        <Link to="jobs/cron">{texts.back}</Link>
      </p>
      <header className="jobs-head">
        <h2>{name}</h2>
        {!job.is_active && <Badge>{texts.off}</Badge>}
        <Actions job={job} name={name} />
      </header>
      <Card>
        <KeyValue
          entries={[
            [texts.words, job.words || job.schedule],
            [texts.schedule, <code key="schedule">{job.schedule}</code>],
            [texts.due, job.is_active ? <Time key="due" value={job.next_run_at} /> : texts.off],
            [texts.owner, job.owner],
          ]}
        />
        <CodeBlock label={texts.command} code={job.command} />
      </Card>
      <Runs job={job} />
    </>
  );
}

function Actions({ job, name }: { job: Job; name: string }) {
  const go = useGo();
  const mayChange = useMay("jobs.change");
  const [isEditing, setEditing] = useState(false);
  const change = useChange("jobs.change", { invalidates: ["jobs."], doneText: texts.saved });
  const run = useChange("jobs.run_now", { invalidates: ["jobs."], doneText: texts.started });
  const remove = useChange("jobs.remove", {
    invalidates: ["jobs."],
    doneText: texts.removed,
    onDone: () => go("jobs/cron"),
  });
  if (!mayChange) return null;
  const onRemove = async () => {
    const question = { title: `${texts.remove}: ${name}`, body: texts.removeText, names: [job.command] };
    if (await confirm({ ...question, action: texts.remove })) remove.mutate({ id: job.id });
  };
  return (
    <div className="jobs-actions">
      <Button size="small" icon="play" onPress={() => run.mutate({ id: job.id })}>{texts.runNow}</Button>
      <Button size="small" icon="edit" onPress={() => setEditing(true)}>{texts.change}</Button>
      <Button size="small" onPress={() => change.mutate({ id: job.id, is_active: !job.is_active })}>
        {job.is_active ? texts.switchOff : texts.switchOn}
      </Button>
      <Button size="small" icon="trash" variant="danger" onPress={() => void onRemove()}>{texts.remove}</Button>
      {isEditing && <JobForm job={job} onClose={() => setEditing(false)} />}
    </div>
  );
}

function Runs({ job }: { job: Job }) {
  const [search, changeSearch] = useSearch();
  const onlyFailed = search["failed"] === "yes";
  const runs = useOperation(
    "jobs.runs",
    { job_id: job.id, limit: 100, ...(onlyFailed ? { status: "failed" as const } : {}) },
    { refreshEvery: refreshMs, keepsPrevious: true },
  );
  return (
    <Card
      title={texts.runs}
      isFlush
      actions={
        <Checkbox isSelected={onlyFailed} onChange={(isOn) => changeSearch({ failed: isOn ? "yes" : null })}>
          {texts.onlyFailed}
        </Checkbox>
      }
    >
      <QueryView
        query={runs}
        isEmpty={({ rows }) => rows.length === 0}
        empty={<EmptyState icon="clock" title={texts.noRuns} />}
      >
        {({ rows }) => (
          <DataTable
            label={texts.runs}
            columns={columns}
            rows={rows}
            keyOf={({ id }) => String(id)}
            height={`${Math.min(rows.length, 14) * 33 + 36}px`}
          />
        )}
      </QueryView>
    </Card>
  );
}

const columns: readonly Column<JobRunRow>[] = [
  { id: "at", title: texts.started_at, width: "6rem", cell: ({ started_at: at }) => <Time value={at} /> },
  {
    id: "status",
    title: texts.state,
    width: "6.5rem",
    cell: ({ status }) => <Badge tone={toneOf(status)}>{status ?? ""}</Badge>,
  },
  {
    id: "took",
    title: texts.took,
    width: "6rem",
    align: "end",
    isMinor: true,
    cell: ({ started_at: from, ended_at: to }) =>
      from !== null && to !== null ? formatMs(Date.parse(to) - Date.parse(from)) : "",
  },
  {
    id: "message",
    title: texts.message,
    width: "minmax(6rem, 3fr)",
    cell: ({ message }) => <code className="cut" title={message ?? ""}>{message}</code>,
  },
];
