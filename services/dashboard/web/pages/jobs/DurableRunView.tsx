import { useSearch } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { CodeBlock, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Note, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { toast } from "../../components/toasts.ts";
import type { DurableRunDetails, DurableStep } from "../../generated/operations.ts";
import { DurableRunState } from "./DurableRunState.tsx";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.durable;
const refreshMs = 5_000;

/** A run: its input, steps and output; cancel it, or run it again, all of it or from a step on. */
export function DurableRunView({ id }: { id: string }) {
  const [, changeSearch] = useSearch();
  const run = useOperation("durable_jobs.show", { id }, { refreshEvery: refreshMs, keepsPrevious: true });
  return (
    <Dialog title={texts.run} isOpen size="side" onClose={() => changeSearch({ run: null })}>
      <QueryView query={run}>
        {(shown) => (
          <>
            <header className="jobs-head">
              <h2>{shown.job}</h2>
              <DurableRunState status={shown.status} />
              <RunActions run={shown} />
            </header>
            {shown.error !== null && <Note kind="warn">{shown.error}</Note>}
            <KeyValue
              entries={[
                [texts.id, <code key="id">{shown.id}</code>],
                ...(shown.key === null ? [] : [[texts.key, <code key="key">{shown.key}</code>] as const]),
                [texts.attempt, String(shown.attempt)],
                ...(shown.due_at === null ? [] : [[texts.due, <Time key="due" value={shown.due_at} />] as const]),
              ]}
            />
            <CodeBlock label={texts.input} code={textOf(shown.input)} />
            <h3>{texts.steps}</h3>
            <ol className="jobs-steps">
              {shown.all_steps.map((step) => <Step key={step.name} step={step} run={shown} />)}
            </ol>
            {shown.output !== null && <CodeBlock label={texts.output} code={textOf(shown.output)} />}
          </>
        )}
      </QueryView>
    </Dialog>
  );
}

function RunActions({ run: { id, ended_at: endedAt } }: { run: DurableRunDetails }) {
  const mayChange = useMay("durable_jobs.cancel");
  const cancel = useChange("durable_jobs.cancel", { invalidates: ["durable_jobs."], doneText: texts.cancelled });
  const rerun = useRerun();
  if (!mayChange) return null;
  return (
    <div className="jobs-actions">
      {endedAt === null
        ? <Button size="small" variant="danger" onPress={() => cancel.mutate({ id })}>{texts.cancel}</Button>
        : <Button size="small" onPress={() => rerun.mutate({ id })}>{texts.rerun}</Button>}
    </div>
  );
}

function Step({ step, run }: { step: DurableStep; run: DurableRunDetails }) {
  const mayChange = useMay("durable_jobs.rerun");
  const rerun = useRerun();
  const { name, kind, status, error, result, bytes, event, due_at: due } = step;
  return (
    <li>
      <header className="jobs-head">
        <strong>{name}</strong>
        <span className="faint">{texts.kinds[kind]}, {texts.stepStates[status]}</span>
        {event !== null && <code>{event}</code>}
        {status !== "done" && due !== null && <Time value={due} />}
        {mayChange && run.ended_at !== null && (
          <Button
            size="small"
            onPress={() => rerun.mutate({ id: run.id, from_step: name })}
          >
            {texts.rerunFrom}
          </Button>
        )}
      </header>
      {error !== null && <Note kind="warn">{error}</Note>}
      {status === "done" && kind !== "sleep" && (
        <CodeBlock label={name} code={result === null && (bytes ?? 0) > 4 ? texts.long(bytes ?? 0) : textOf(result)} />
      )}
    </li>
  );
}

function useRerun() {
  const [, changeSearch] = useSearch();
  return useChange("durable_jobs.rerun", {
    invalidates: ["durable_jobs."],
    onDone: ({ id }) => {
      toast.done(texts.started);
      changeSearch({ run: id });
    },
  });
}

function textOf(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
