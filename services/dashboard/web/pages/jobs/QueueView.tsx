import { useState } from "react";
import { Link, useGo, useSearch } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Card, JsonView } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import { Time } from "../../components/Time.tsx";
import { toast } from "../../components/toasts.ts";
import type { QueueMessage, QueueSummary } from "../../generated/operations.ts";
import { Consumer } from "./Consumer.tsx";
import { SendMessage } from "./SendMessage.tsx";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.queues;
const refreshMs = 5_000;
const pageSize = 200;

/** A queue: its messages and its archive, looked into without reading them. */
export function QueueView({ queue }: { queue: QueueSummary }) {
  const [search, changeSearch] = useSearch();
  return (
    <>
      <p className="jobs-path">
        <Link to="jobs/queues">{texts.back}</Link>
      </p>
      <header className="jobs-head">
        <h2>{queue.name}</h2>
        <QueueActions queue={queue.name} />
      </header>
      <Consumer queue={queue.name} />
      <Tabs
        label={texts.messages}
        selected={search["of"] ?? "queue"}
        onSelect={(of) => changeSearch({ of: of === "queue" ? null : of, message: null })}
        tabs={[
          { id: "queue", title: texts.messages, content: <Messages queue={queue.name} isArchive={false} /> },
          { id: "archive", title: texts.archive, content: <Messages queue={queue.name} isArchive /> },
        ]}
      />
    </>
  );
}

function QueueActions({ queue }: { queue: string }) {
  const go = useGo();
  const mayChange = useMay("queues.send");
  const [isSending, setSending] = useState(false);
  const purge = useChange("queues.purge", {
    invalidates: ["queues."],
    onDone: ({ count }) => toast.done(texts.purged(count)),
  });
  const drop = useChange("queues.drop", {
    invalidates: ["queues."],
    doneText: texts.dropped,
    onDone: () => go("jobs/queues"),
  });
  if (!mayChange) return null;
  const ask = (body: string, action: string) =>
    confirm({ title: `${action}: ${queue}`, body, names: [queue], typeName: queue, action });
  const onPurge = async () => {
    if (await ask(texts.purgeText, texts.purge)) purge.mutate({ queue });
  };
  const onDrop = async () => {
    if (await ask(texts.dropText, texts.drop)) drop.mutate({ queue });
  };
  return (
    <div className="jobs-actions">
      <Button size="small" icon="send" variant="primary" onPress={() => setSending(true)}>{texts.send}</Button>
      <Button size="small" onPress={() => void onPurge()}>{texts.purge}</Button>
      <Button size="small" icon="trash" variant="danger" onPress={() => void onDrop()}>{texts.drop}</Button>
      {isSending && <SendMessage queue={queue} onClose={() => setSending(false)} />}
    </div>
  );
}

function Messages({ queue, isArchive }: { queue: string; isArchive: boolean }) {
  const [search, changeSearch] = useSearch();
  const mayChange = useMay("queues.retry");
  const [selection, setSelection] = useState<ReadonlySet<string>>(new Set());
  const [after, setAfter] = useState(0);
  const messages = useOperation(
    "queues.messages",
    { queue, archive: isArchive, after, limit: pageSize },
    { refreshEvery: refreshMs, keepsPrevious: true },
  );
  const open = messages.data?.rows.find(({ id }) => String(id) === search["message"]);
  return (
    <Card isFlush>
      {mayChange && selection.size > 0 && (
        <SelectionBar
          queue={queue}
          isArchive={isArchive}
          ids={[...selection].map(Number)}
          onDone={() => setSelection(new Set())}
        />
      )}
      <QueryView
        query={messages}
        isEmpty={({ rows }) => rows.length === 0 && after === 0}
        empty={<EmptyState icon="layers" title={texts.noMessages}>{texts.noMessagesText}</EmptyState>}
      >
        {({ rows, next }) => (
          <>
            <DataTable
              label={isArchive ? texts.archive : texts.messages}
              columns={isArchive ? archiveColumns : columns}
              rows={rows}
              keyOf={({ id }) => String(id)}
              openKey={search["message"] ?? null}
              onOpen={({ id }) => changeSearch({ message: String(id) }, false)}
              {...(mayChange ? { selection, onSelect: setSelection } : {})}
              height={`${Math.min(rows.length, 16) * 33 + 36}px`}
            />
            {(next !== null || after > 0) && (
              <div className="jobs-pages">
                <Button size="small" isDisabled={after === 0} onPress={() => setAfter(0)}>{texts.messages}</Button>
                <Button size="small" isDisabled={next === null} onPress={() => setAfter(next ?? 0)}>
                  {jobsTexts.next}
                </Button>
              </div>
            )}
          </>
        )}
      </QueryView>
      {open && (
        <Dialog title={`${queue} ${open.id}`} isOpen size="side" onClose={() => changeSearch({ message: null })}>
          <JsonView value={open.message} label={texts.content} depth={6} />
          {open.headers !== null && <JsonView value={open.headers} label={texts.headers} depth={4} />}
        </Dialog>
      )}
    </Card>
  );
}

function SelectionBar({ queue, isArchive, ids, onDone }: {
  queue: string;
  isArchive: boolean;
  ids: number[];
  onDone: () => void;
}) {
  const finish = (text: (count: number) => string) => (result: { ids: number[] }) => {
    toast.done(text(result.ids.length));
    onDone();
  };
  const invalidates = ["queues."] as const;
  const retry = useChange("queues.retry", { invalidates, onDone: finish(texts.retried) });
  const archive = useChange("queues.archive", { invalidates, onDone: finish(texts.moved) });
  const remove = useChange("queues.delete_messages", { invalidates, onDone: finish(texts.deleted) });
  const onDelete = async () => {
    const question = { title: texts.deleteTitle(ids.length), body: texts.deleteText, names: ids.map(String) };
    if (await confirm({ ...question, action: texts.delete })) remove.mutate({ queue, ids });
  };
  return (
    <div className="jobs-selection" role="group" aria-label={texts.selected(ids.length)}>
      <span className="soft">{texts.selected(ids.length)}</span>
      <Button size="small" onPress={() => retry.mutate({ queue, ids, archive: isArchive })}>{texts.retry}</Button>
      {!isArchive && <Button size="small" onPress={() => archive.mutate({ queue, ids })}>{texts.move}</Button>}
      {!isArchive && <Button size="small" icon="trash" onPress={() => void onDelete()}>{texts.delete}</Button>}
    </div>
  );
}

const first: readonly Column<QueueMessage>[] = [
  { id: "id", title: texts.id, width: "5rem", align: "end", cell: ({ id }) => <span className="number">{id}</span> },
  {
    id: "content",
    title: texts.content,
    width: "minmax(8rem, 3fr)",
    cell: ({ message }) => <code className="cut">{JSON.stringify(message)}</code>,
  },
  {
    id: "reads",
    title: texts.reads,
    width: "6rem",
    isMinor: true,
    cell: ({ reads }) => reads > 0 ? texts.times(reads) : "–",
  },
  {
    id: "sent",
    title: texts.enqueued,
    width: "8rem",
    isMinor: true,
    cell: ({ enqueued_at: at }) => <Time value={at} />,
  },
];
const columns: readonly Column<QueueMessage>[] = [
  ...first,
  {
    id: "readable",
    title: texts.readable,
    width: "8rem",
    isMinor: true,
    cell: ({ visible_at: at }) => <Time value={at} />,
  },
];
const archiveColumns: readonly Column<QueueMessage>[] = [
  ...first,
  {
    id: "archived",
    title: texts.archived,
    width: "8rem",
    isMinor: true,
    cell: ({ archived_at: at }) => <Time value={at} />,
  },
];
