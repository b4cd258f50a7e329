import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, Figure } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Note } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import { formatNumber, formatSpan } from "../../format.ts";
import type { QueueConsumerState } from "../../generated/operations.ts";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.consumer;
const refreshMs = 5_000;

/** The function that consumes a queue: how it does, pause, resume, drain, and what was set aside. Nothing where no function does. */
export function Consumer({ queue }: { queue: string }) {
  const consumers = useOperation("queues.consumers", {}, { refreshEvery: refreshMs });
  const consumer = consumers.data?.find((each) => each.queue.toLowerCase() === queue.toLowerCase());
  if (!consumer) return null;
  return (
    <Card title={texts.title(consumer.function)} actions={<ConsumerActions consumer={consumer} />}>
      {consumer.problem !== "" && <Note kind="warn">{consumer.problem}</Note>}
      {consumer.problem === "" && consumer.last_error !== "" && (
        <Note kind="warn">{texts.lastError(consumer.last_error)}</Note>
      )}
      <div className="figures">
        <Figure label={texts.state} value={<State consumer={consumer} />} />
        <Figure label={texts.underway} value={formatNumber(consumer.underway)} />
        <Figure
          label={texts.done}
          value={formatNumber(consumer.done)}
          hint={texts.rate(formatNumber(Math.round(consumer.done_per_s * 10) / 10))}
        />
        <Figure
          label={texts.failed}
          value={formatNumber(consumer.failed)}
          hint={texts.rate(formatNumber(Math.round(consumer.failed_per_s * 10) / 10))}
          tone={consumer.failed_per_s > 0 ? "warn" : "neutral"}
        />
        <Figure
          label={texts.setAside}
          value={formatNumber(consumer.set_aside)}
          hint={consumer.dead_letter || texts.inArchive}
        />
        <Figure
          label={texts.oldest}
          value={consumer.oldest_s === null ? "–" : formatSpan(consumer.oldest_s)}
        />
      </div>
    </Card>
  );
}

function State({ consumer }: { consumer: QueueConsumerState }) {
  if (consumer.problem !== "") return <Badge tone="bad">{texts.stopped}</Badge>;
  const tone = consumer.wanted === "run" ? "good" : "warn";
  return <Badge tone={tone}>{texts.states[consumer.wanted]}</Badge>;
}

function ConsumerActions({ consumer }: { consumer: QueueConsumerState }) {
  const { queue } = consumer;
  const mayChange = useMay("queues.pause");
  const invalidates = ["queues."] as const;
  const pause = useChange("queues.pause", { invalidates });
  const resume = useChange("queues.resume", { invalidates });
  const drain = useChange("queues.drain", { invalidates });
  const redrive = useChange("queues.redrive", {
    invalidates,
    onDone: ({ count }) => toast.done(texts.redriven(count)),
  });
  if (!mayChange) return null;
  const isRunning = consumer.wanted === "run";
  return (
    <>
      {isRunning && <Button size="small" onPress={() => pause.mutate({ queue })}>{texts.pause}</Button>}
      {isRunning && <Button size="small" onPress={() => drain.mutate({ queue })}>{texts.drain}</Button>}
      {!isRunning && (
        <Button size="small" variant="primary" onPress={() => resume.mutate({ queue })}>{texts.resume}</Button>
      )}
      {consumer.set_aside > 0 && <Button size="small" onPress={() => redrive.mutate({ queue })}>{texts.redrive}
      </Button>}
    </>
  );
}
