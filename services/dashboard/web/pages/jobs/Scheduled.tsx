import { useState } from "react";
import { pathOf, useGo, useSubpath } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { EmptyState } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { Job } from "../../generated/operations.ts";
import { ExtensionView } from "./ExtensionView.tsx";
import { JobForm } from "./JobForm.tsx";
import { JobView } from "./JobView.tsx";
import { toneOf } from "./runTone.ts";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.cron;
const refreshMs = 10_000;

/** Jobs of pg_cron, or one of them with its runs. */
export default function Scheduled() {
  const [, id] = useSubpath();
  const go = useGo();
  const mayCreate = useMay("jobs.create");
  const [isCreating, setCreating] = useState(false);
  const jobs = useOperation("jobs.list", { limit: 500 }, { refreshEvery: refreshMs });
  const open = jobs.data?.rows.find((job) => String(job.id) === id);
  if (open) return <JobView job={open} />;
  const create = mayCreate && (
    <Button size="small" icon="plus" variant="primary" onPress={() => setCreating(true)}>{texts.create}</Button>
  );
  return (
    <>
      <ExtensionView
        extension="pg_cron"
        query={jobs}
        isEmpty={({ rows }) => rows.length === 0}
        empty={<EmptyState icon="clock" title={texts.none} action={create}>{texts.noneText}</EmptyState>}
      >
        {({ rows }) => (
          <Card title={jobsTexts.tabs.cron} isFlush actions={create}>
            <DataTable
              label={jobsTexts.tabs.cron}
              columns={columns}
              rows={rows}
              keyOf={(job) => String(job.id)}
              onOpen={(job) => go(pathOf("jobs", "cron", String(job.id)))}
              height={`${Math.min(rows.length, 16) * 33 + 36}px`}
            />
          </Card>
        )}
      </ExtensionView>
      {isCreating && <JobForm job={null} onClose={() => setCreating(false)} />}
    </>
  );
}

const columns: readonly Column<Job>[] = [
  { id: "name", title: texts.name, cell: (job) => <span className="cut">{job.name ?? `#${job.id}`}</span> },
  {
    id: "words",
    title: texts.words,
    width: "minmax(8rem, 2fr)",
    isMinor: true,
    cell: (job) => <span className="cut">{job.words || job.schedule}</span>,
  },
  {
    id: "state",
    title: texts.state,
    width: "minmax(7rem, 1fr)",
    cell: (job) =>
      job.last_status === null
        ? <span className="faint">{texts.notYet}</span>
        : <Badge tone={toneOf(job.last_status)}>{job.last_status}</Badge>,
  },
  {
    id: "due",
    title: texts.due,
    width: "8rem",
    isMinor: true,
    cell: (job) => job.is_active ? <Time value={job.next_run_at} /> : <Badge>{texts.off}</Badge>,
  },
];
