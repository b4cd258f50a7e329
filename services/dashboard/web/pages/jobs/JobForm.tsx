import { useState } from "react";
import { useDelayed } from "../../api/delayed.ts";
import { useChange, useOperation } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { ErrorNote } from "../../components/states.tsx";
import { formatTime } from "../../format.ts";
import type { Job } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.cron;

/** Creates a job or changes one; what its schedule means is shown while it is typed. */
export function JobForm({ job, onClose }: { job: Job | null; onClose: () => void }) {
  const [name, setName] = useState(job?.name ?? "");
  const [schedule, setSchedule] = useState(job?.schedule ?? "0 3 * * *");
  const [command, setCommand] = useState(job?.command ?? "");
  const [error, setError] = useState<unknown>(null);
  const onDone = () => onClose();
  const options = { invalidates: ["jobs."], showsError: true, doneText: texts.saved, onDone } as const;
  const create = useChange("jobs.create", options);
  const change = useChange("jobs.change", options);
  const submit = () => {
    const isReady = (job !== null || name.trim() !== "") && schedule.trim() !== "" && command.trim() !== "";
    setError(isReady ? null : new Error(texts.needsName));
    if (!isReady) return;
    if (job === null) create.mutate({ name: name.trim(), schedule: schedule.trim(), command });
    else change.mutate({ id: job.id, schedule: schedule.trim(), command });
  };
  return (
    <Dialog
      title={job === null ? texts.create : texts.edit(job.name ?? `#${job.id}`)}
      isOpen
      size="large"
      isDismissable={false}
      onClose={onClose}
      onSubmit={submit}
      error={error ?? create.error ?? change.error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={create.isPending || change.isPending}>
            {job === null ? texts.create : texts.save}
          </Button>
        </>
      }
    >
      {job === null && <Field label={texts.name} value={name} onChange={setName} hasFocus autoComplete="off" />}
      <Field label={texts.schedule} hint={texts.scheduleHint} value={schedule} onChange={setSchedule} isCode />
      <Meaning schedule={schedule.trim()} />
      <CodeEditor
        label={texts.command}
        language="sql"
        value={command}
        onChange={setCommand}
        onRun={submit}
        minHeight="8rem"
        maxHeight="20rem"
      />
    </Dialog>
  );
}

function Meaning({ schedule }: { schedule: string }) {
  const settled = useDelayed(schedule);
  const meaning = useOperation("jobs.describe_schedule", { schedule: settled }, { isEnabled: settled !== "" });
  if (meaning.error) return <ErrorNote error={meaning.error} />;
  if (!meaning.data) return null;
  const { words, timezone, next_runs: times } = meaning.data;
  return (
    <div className="jobs-meaning" role="status">
      <p>{texts.means(words, timezone)}</p>
      <p className="soft">
        {times.length === 0 ? texts.never : `${texts.nextRuns}: ${times.slice(0, 3).map(formatTime).join(", ")}`}
      </p>
    </div>
  );
}
