import { useState } from "react";
import { pathOf, useGo, useSubpath } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { EmptyState } from "../../components/states.tsx";
import { formatNumber, formatSpan } from "../../format.ts";
import type { QueueSummary } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { ExtensionView } from "./ExtensionView.tsx";
import { QueueView } from "./QueueView.tsx";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.queues;
const refreshMs = 5_000;

/** Queues of pgmq, or one of them with its messages. */
export default function Queues() {
  const [, name] = useSubpath();
  const go = useGo();
  const mayCreate = useMay("queues.create");
  const [isCreating, setCreating] = useState(false);
  const queues = useOperation("queues.list", {}, { refreshEvery: refreshMs });
  const open = queues.data?.find((queue) => queue.name === name);
  if (open) return <QueueView key={open.name} queue={open} />;
  const create = mayCreate && (
    <Button size="small" icon="plus" variant="primary" onPress={() => setCreating(true)}>{texts.create}</Button>
  );
  return (
    <>
      <ExtensionView
        extension="pgmq"
        query={queues}
        isEmpty={(rows) => rows.length === 0}
        empty={<EmptyState icon="layers" title={texts.none} action={create}>{texts.noneText}</EmptyState>}
      >
        {(rows) => (
          <Card title={jobsTexts.tabs.queues} isFlush actions={create}>
            <DataTable
              label={jobsTexts.tabs.queues}
              columns={columns}
              rows={rows}
              keyOf={(queue) => queue.name}
              onOpen={(queue) => go(pathOf("jobs", "queues", queue.name))}
              height={`${Math.min(rows.length, 16) * 33 + 36}px`}
            />
          </Card>
        )}
      </ExtensionView>
      {isCreating && <CreateQueue onClose={() => setCreating(false)} />}
    </>
  );
}

function CreateQueue({ onClose }: { onClose: () => void }) {
  const [queue, setQueue] = useState("");
  const [isUnlogged, setUnlogged] = useState(false);
  const create = useChange("queues.create", { invalidates: ["queues."], showsError: true, onDone: onClose });
  return (
    <Dialog
      title={texts.createTitle}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() => queue.trim() && create.mutate({ queue: queue.trim(), is_unlogged: isUnlogged })}
      error={create.error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={queue.trim() === "" || create.isPending}>
            {texts.create}
          </Button>
        </>
      }
    >
      <Field
        label={texts.name}
        hint={texts.nameHint}
        value={queue}
        onChange={setQueue}
        isCode
        hasFocus
        autoComplete="off"
      />
      <Checkbox isSelected={isUnlogged} onChange={setUnlogged}>{texts.unlogged}</Checkbox>
    </Dialog>
  );
}

const columns: readonly Column<QueueSummary>[] = [
  { id: "name", title: texts.name, cell: ({ name }) => <code className="cut">{name}</code> },
  count("waiting", texts.waiting, ({ messages }) => messages),
  count("visible", texts.visible, ({ visible }) => visible),
  { ...count("total", texts.total, ({ total }) => total), isMinor: true },
  {
    id: "oldest",
    title: texts.oldest,
    width: "7rem",
    align: "end",
    isMinor: true,
    cell: ({ oldest_s: age }) => age === null ? "" : formatSpan(age),
  },
];

function count(id: string, title: string, of: (queue: QueueSummary) => number): Column<QueueSummary> {
  return {
    id,
    title,
    width: "7rem",
    align: "end",
    cell: (queue) => <span className="number">{formatNumber(of(queue))}</span>,
  };
}
