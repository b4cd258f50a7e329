import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatNumber } from "../../format.ts";
import type { DurableJob, DurableRun } from "../../generated/operations.ts";
import { DurableRunState } from "./DurableRunState.tsx";
import { DurableRunView } from "./DurableRunView.tsx";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.durable;
const refreshMs = 5_000;
const pageSize = 100;
const states = ["all", "queued", "running", "sleeping", "done", "failed", "cancelled"] as const;

/** Durable jobs with what waits, and their runs; one of these with its steps. */
export default function DurableJobs() {
  const [search, changeSearch] = useSearch();
  const jobs = useOperation("durable_jobs.list", {}, { refreshEvery: refreshMs });
  return (
    <QueryView
      query={jobs}
      isEmpty={(rows) => rows.length === 0}
      empty={<EmptyState icon="clock" title={texts.none}>{texts.noneText}</EmptyState>}
    >
      {(rows) => (
        <>
          <Card title={jobsTexts.tabs.durable} isFlush>
            <DataTable
              label={jobsTexts.tabs.durable}
              columns={jobColumns}
              rows={rows}
              keyOf={({ name }) => name}
              openKey={search["job"] ?? null}
              onOpen={({ name }) => changeSearch({ job: name === search["job"] ? null : name, run: null })}
              height={`${Math.min(rows.length, 8) * 33 + 36}px`}
            />
          </Card>
          <Runs key={search["job"] ?? ""} job={search["job"] ?? ""} />
          {search["run"] && <DurableRunView id={search["run"]} />}
        </>
      )}
    </QueryView>
  );
}

function Runs({ job }: { job: string }) {
  const [search, changeSearch] = useSearch();
  const [after, setAfter] = useState("");
  const status = states.find((each) => each === search["status"]) ?? "all";
  const runs = useOperation(
    "durable_jobs.runs",
    { job, status: status === "all" ? null : status, after, limit: pageSize },
    { refreshEvery: refreshMs, keepsPrevious: true },
  );
  const choose = (chosen: typeof states[number]) => {
    setAfter("");
    changeSearch({ status: chosen === "all" ? null : chosen });
  };
  return (
    <Card
      title={job === "" ? texts.runs : texts.runsOf(job)}
      isFlush
      actions={
        <Select
          label={texts.status}
          hidesLabel
          size="small"
          choices={states.map((id) => ({ id, label: texts.states[id] }))}
          value={status}
          onChange={choose}
        />
      }
    >
      <QueryView
        query={runs}
        isEmpty={({ rows }) => rows.length === 0 && after === ""}
        empty={<EmptyState icon="clock" title={texts.noRuns}>{texts.noRunsText}</EmptyState>}
      >
        {({ rows, next }) => (
          <>
            <DataTable
              label={texts.runs}
              columns={runColumns}
              rows={rows}
              keyOf={({ id }) => id}
              openKey={search["run"] ?? null}
              onOpen={({ id }) => changeSearch({ run: id }, false)}
              height={`${Math.min(rows.length, 12) * 33 + 36}px`}
            />
            {(next !== null || after !== "") && (
              <div className="jobs-pages">
                <Button size="small" isDisabled={after === ""} onPress={() => setAfter("")}>{texts.newest}</Button>
                <Button size="small" isDisabled={next === null} onPress={() => setAfter(next ?? "")}>
                  {jobsTexts.next}
                </Button>
              </div>
            )}
          </>
        )}
      </QueryView>
    </Card>
  );
}

const jobColumns: readonly Column<DurableJob>[] = [
  { id: "name", title: texts.name, cell: ({ name }) => <span className="cut">{name}</span> },
  {
    id: "by",
    title: texts.by,
    isMinor: true,
    cell: ({ is_function: isFunction, is_defined: isDefined }) =>
      !isDefined ? texts.gone : isFunction ? texts.function : texts.sql,
  },
  { id: "events", title: texts.events, isMinor: true, cell: ({ events }) => events.join(", ") },
  ...(["waiting", "running", "failed"] as const).map((id): Column<DurableJob> => ({
    id,
    title: texts[id],
    width: "6rem",
    align: "end",
    cell: (job) => <span className="number">{formatNumber(job[id])}</span>,
  })),
];

const runColumns: readonly Column<DurableRun>[] = [
  { id: "created", title: texts.created, width: "7rem", cell: ({ created_at: at }) => <Time value={at} /> },
  { id: "job", title: texts.job, cell: ({ job }) => <span className="cut">{job}</span> },
  { id: "key", title: texts.key, isMinor: true, cell: ({ key }) => <code className="cut">{key}</code> },
  { id: "status", title: texts.status, width: "6.5rem", cell: ({ status }) => <DurableRunState status={status} /> },
  {
    id: "steps",
    title: texts.steps,
    width: "5rem",
    align: "end",
    cell: ({ steps }) => <span className="number">{formatNumber(steps)}</span>,
  },
  {
    id: "error",
    title: texts.error,
    width: "minmax(6rem, 2fr)",
    isMinor: true,
    cell: ({ error }) => <code className="cut">{error}</code>,
  },
];
