import { useState } from "react";
import { pathOf, useGo, useSubpath } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { formatNumber } from "../../format.ts";
import type { EventWebhook } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { EventWebhookForm } from "./EventWebhookForm.tsx";
import { sourceOf, WebhookState } from "./EventWebhookState.tsx";
import { EventWebhookView } from "./EventWebhookView.tsx";
import { SecretText } from "./SecretText.tsx";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.events;
const refreshMs = 5_000;

/** Webhooks of events that are sent at least once, or one of them with its deliveries. */
export default function EventWebhooks() {
  const [, name] = useSubpath();
  const go = useGo();
  const mayAdd = useMay("event_webhooks.add");
  const [isAdding, setAdding] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const webhooks = useOperation("event_webhooks.list", {}, { refreshEvery: refreshMs });
  const open = webhooks.data?.find((webhook) => webhook.name === name);
  const add = mayAdd && (
    <Button size="small" icon="plus" variant="primary" onPress={() => setAdding(true)}>{texts.add}</Button>
  );
  return (
    <>
      {open ? <EventWebhookView key={open.id} webhook={open} /> : (
        <QueryView
          query={webhooks}
          isEmpty={(rows) => rows.length === 0}
          empty={<EmptyState icon="send" title={texts.none} action={add}>{texts.noneText}</EmptyState>}
        >
          {(rows) => (
            <Card title={jobsTexts.tabs.events} isFlush actions={add}>
              <DataTable
                label={jobsTexts.tabs.events}
                columns={columns}
                rows={rows}
                keyOf={({ id }) => id}
                onOpen={(webhook) => go(pathOf("jobs", "events", webhook.name))}
                height={`${Math.min(rows.length, 16) * 33 + 36}px`}
              />
            </Card>
          )}
        </QueryView>
      )}
      {isAdding && (
        <EventWebhookForm
          onClose={() => setAdding(false)}
          onAdded={(added) => {
            setAdding(false);
            setSecret(added);
          }}
        />
      )}
      {secret !== null && (
        <Dialog
          title={texts.secretTitle}
          isOpen
          size="small"
          onClose={() => setSecret(null)}
          footer={<Button variant="primary" onPress={() => setSecret(null)}>{shared.actions.close}</Button>}
        >
          <SecretText secret={secret} />
        </Dialog>
      )}
    </>
  );
}

const columns: readonly Column<EventWebhook>[] = [
  { id: "name", title: texts.name, cell: ({ name }) => <span className="cut">{name}</span> },
  { id: "source", title: texts.source, isMinor: true, cell: (hook) => <code className="cut">{sourceOf(hook)}</code> },
  { id: "events", title: texts.events, isMinor: true, cell: ({ events }) => events.join(", ") },
  { id: "url", title: texts.url, width: "minmax(8rem, 2fr)", cell: ({ url }) => <code className="cut">{url}</code> },
  {
    id: "waiting",
    title: texts.waiting,
    width: "6rem",
    align: "end",
    cell: ({ waiting }) => <span className="number">{formatNumber(waiting)}</span>,
  },
  { id: "state", title: texts.state, width: "6rem", cell: (webhook) => <WebhookState webhook={webhook} /> },
];
