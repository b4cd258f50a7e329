import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { toast } from "../../components/toasts.ts";
import type { DeliveredEvent } from "../../generated/operations.ts";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.events;
const refreshMs = 5_000;
const pageSize = 200;
const states = ["all", "waiting", "delivered", "failed"] as const;
type State = typeof states[number];

/** What a webhook sent, what was answered, and sending it again. */
export function EventDeliveries({ webhook }: { webhook: string }) {
  const [search, changeSearch] = useSearch();
  const mayResend = useMay("event_webhooks.resend");
  const [selection, setSelection] = useState<ReadonlySet<string>>(new Set());
  const [before, setBefore] = useState<number | null>(null);
  const state = states.find((each) => each === search["state"]) ?? "all";
  const deliveries = useOperation(
    "event_webhooks.deliveries",
    { webhook, state: state === "all" ? null : state, before, limit: pageSize },
    { refreshEvery: refreshMs, keepsPrevious: true },
  );
  const resend = useChange("event_webhooks.resend", {
    invalidates: ["event_webhooks."],
    onDone: ({ count }) => {
      toast.done(texts.resent(count));
      setSelection(new Set());
    },
  });
  const open = deliveries.data?.rows.find(({ id }) => String(id) === search["delivery"]);
  const choose = (chosen: State) => {
    setBefore(null);
    changeSearch({ state: chosen === "all" ? null : chosen });
  };
  return (
    <Card
      title={texts.deliveries}
      isFlush
      actions={
        <>
          {selection.size > 0 && (
            <Button
              size="small"
              onPress={() => resend.mutate({ webhook, ids: [...selection].map(Number) })}
            >
              {texts.resend(selection.size)}
            </Button>
          )}
          <Select
            label={texts.state}
            hidesLabel
            size="small"
            choices={states.map((id) => ({ id, label: texts.states[id] }))}
            value={state}
            onChange={choose}
          />
        </>
      }
    >
      <QueryView
        query={deliveries}
        isEmpty={({ rows }) => rows.length === 0 && before === null}
        empty={<EmptyState icon="send" title={texts.noDeliveries}>{texts.noDeliveriesText}</EmptyState>}
      >
        {({ rows, next }) => (
          <>
            <DataTable
              label={texts.deliveries}
              columns={columns}
              rows={rows}
              keyOf={({ id }) => String(id)}
              openKey={search["delivery"] ?? null}
              onOpen={({ id }) => changeSearch({ delivery: String(id) }, false)}
              {...(mayResend ? { selection, onSelect: setSelection } : {})}
              height={`${Math.min(rows.length, 16) * 33 + 36}px`}
            />
            {(next !== null || before !== null) && (
              <div className="jobs-pages">
                <Button size="small" isDisabled={before === null} onPress={() => setBefore(null)}>
                  {texts.newest}
                </Button>
                <Button size="small" isDisabled={next === null} onPress={() => setBefore(next)}>
                  {jobsTexts.next}
                </Button>
              </div>
            )}
          </>
        )}
      </QueryView>
      {open && (
        <Dialog
          title={`${open.type} ${open.id}`}
          isOpen
          size="side"
          onClose={() => changeSearch({ delivery: null })}
        >
          <p>{outcomeOf(open)}</p>
          <CodeBlock label={texts.sent} code={open.body} />
          {open.answer && <CodeBlock label={texts.answer} code={open.answer} />}
        </Dialog>
      )}
    </Card>
  );
}

function outcomeOf({ error, status, attempts }: DeliveredEvent): string {
  return `${error ?? (status === null ? texts.notYet : String(status))} (${texts.attempts(attempts)})`;
}

const columns: readonly Column<DeliveredEvent>[] = [
  { id: "at", title: texts.at, width: "7rem", cell: ({ occurred_at: at }) => <Time value={at} /> },
  { id: "type", title: texts.type, cell: ({ type }) => <code className="cut">{type}</code> },
  {
    id: "state",
    title: texts.state,
    width: "6.5rem",
    cell: ({ state }) => (
      <Badge tone={state === "failed" ? "bad" : state === "delivered" ? "good" : "neutral"}>{state}</Badge>
    ),
  },
  { id: "outcome", title: texts.answer, isMinor: true, cell: outcomeOf },
  {
    id: "body",
    title: texts.sent,
    width: "minmax(6rem, 2fr)",
    isMinor: true,
    cell: ({ body }) => <code className="cut">{body}</code>,
  },
];
