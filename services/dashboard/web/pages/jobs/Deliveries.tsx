import { Link, useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { WebhookDelivery } from "../../generated/operations.ts";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.webhooks;

/** What a webhook sent, and what was answered. */
export function Deliveries({ webhook }: { webhook: string }) {
  const [search, changeSearch] = useSearch();
  const deliveries = useOperation("webhooks.deliveries", { webhook, limit: 200 }, { refreshEvery: 5_000 });
  const open = deliveries.data?.rows.find(({ id }) => String(id) === search["delivery"]);
  return (
    <>
      <p className="jobs-path">
        <Link to="jobs/webhooks">{texts.all}</Link>
      </p>
      <Card title={texts.deliveriesOf(webhook)} isFlush>
        <QueryView
          query={deliveries}
          isEmpty={({ rows }) => rows.length === 0}
          empty={<EmptyState icon="send" title={texts.noDeliveries}>{texts.noDeliveriesText}</EmptyState>}
        >
          {({ rows }) => (
            <DataTable
              label={texts.deliveries}
              columns={columns}
              rows={rows}
              keyOf={({ id }) => String(id)}
              onOpen={({ id }) => changeSearch({ delivery: String(id) }, false)}
              height={`${Math.min(rows.length, 16) * 33 + 36}px`}
            />
          )}
        </QueryView>
      </Card>
      {open && (
        <Dialog
          title={`${webhook} ${open.id}`}
          isOpen
          size="side"
          onClose={() => changeSearch({ delivery: null })}
        >
          <p>{open.error ?? outcome(open)}</p>
          {open.body !== null && <CodeBlock label={texts.body} code={open.body} />}
        </Dialog>
      )}
    </>
  );
}

function outcome({ status, is_timeout: isTimeout, state }: WebhookDelivery): string {
  return isTimeout ? texts.timedOut : status === null ? state : String(status);
}

const columns: readonly Column<WebhookDelivery>[] = [
  { id: "at", title: texts.at, width: "6rem", cell: ({ at }) => <Time value={at} /> },
  {
    id: "state",
    title: texts.state,
    width: "6.5rem",
    cell: ({ state }) => (
      <Badge tone={state === "failed" ? "bad" : state === "delivered" || state === "succeeded" ? "good" : "neutral"}>
        {state}
      </Badge>
    ),
  },
  { id: "status", title: texts.status, width: "8rem", isMinor: true, cell: outcome },
  {
    id: "error",
    title: texts.body,
    width: "minmax(6rem, 3fr)",
    cell: ({ error, body }) => <code className="cut">{error ?? body}</code>,
  },
];
