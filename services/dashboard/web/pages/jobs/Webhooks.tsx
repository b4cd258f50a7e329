import { useState } from "react";
import { pathOf, useGo, useSubpath } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, Figure } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { Menu } from "../../components/Menu.tsx";
import { EmptyState } from "../../components/states.tsx";
import { formatNumber } from "../../format.ts";
import type { TableWebhook } from "../../generated/operations.ts";
import { Deliveries } from "./Deliveries.tsx";
import { ExtensionView } from "./ExtensionView.tsx";
import { jobsTexts } from "./texts.ts";
import { WebhookForm } from "./WebhookForm.tsx";

const texts = jobsTexts.webhooks;

/** Webhooks of tables with their deliveries, and the webhook of storage. */
export default function Webhooks() {
  const [, name] = useSubpath();
  const go = useGo();
  const mayCreate = useMay("webhooks.create");
  const [isCreating, setCreating] = useState(false);
  const webhooks = useOperation("webhooks.list", {});
  if (name !== undefined) return <Deliveries webhook={name} />;
  const create = mayCreate && (
    <Button size="small" icon="plus" variant="primary" onPress={() => setCreating(true)}>{texts.create}</Button>
  );
  return (
    <>
      <ExtensionView
        extension="pg_net"
        query={webhooks}
        isEmpty={(rows) => rows.length === 0}
        empty={<EmptyState icon="send" title={texts.none} action={create}>{texts.noneText}</EmptyState>}
      >
        {(rows) => (
          <Card title={jobsTexts.tabs.webhooks} isFlush actions={create}>
            <DataTable
              label={jobsTexts.tabs.webhooks}
              columns={mayCreate ? [...columns, actions] : columns}
              rows={rows}
              keyOf={(hook) => `${hook.schema}.${hook.table}.${hook.name}`}
              onOpen={(hook) => go(pathOf("jobs", "webhooks", hook.name))}
              height={`${Math.min(rows.length, 12) * 33 + 36}px`}
            />
          </Card>
        )}
      </ExtensionView>
      <StorageWebhook />
      {isCreating && <WebhookForm onClose={() => setCreating(false)} />}
    </>
  );
}

function StorageWebhook() {
  const state = useOperation("webhooks.storage", {}, { refreshEvery: 10_000 });
  if (!state.data) return null;
  const { is_configured: isConfigured, host, sent, failed, waiting, retrying } = state.data;
  return (
    <Card title={texts.storage}>
      {!isConfigured ? <p className="soft">{texts.storageOff}</p> : (
        <div className="figures">
          <Figure label={texts.url} value={host} />
          <Figure label={texts.delivered} value={formatNumber(sent)} />
          <Figure label={texts.waiting} value={formatNumber(waiting + retrying)} />
          <Figure label={texts.failed} value={formatNumber(failed)} tone={failed > 0 ? "warn" : "neutral"} />
        </div>
      )}
    </Card>
  );
}

function WebhookMenu({ hook }: { hook: TableWebhook }) {
  const { schema, table, name, is_enabled: isEnabled } = hook;
  const change = useChange("webhooks.switch", { invalidates: ["webhooks."], doneText: texts.switched });
  const remove = useChange("webhooks.remove", { invalidates: ["webhooks."], doneText: texts.removed });
  const onRemove = async () => {
    const question = { title: `${texts.remove}: ${name}`, body: texts.removeText, names: [hook.url] };
    if (await confirm({ ...question, typeName: name, action: texts.remove })) remove.mutate({ schema, table, name });
  };
  return (
    <Menu
      label={jobsTexts.actions(name)}
      button={<IconButton icon="more" size="small" label={jobsTexts.actions(name)} />}
      entries={[
        {
          id: "switch",
          label: isEnabled ? texts.switchOff : texts.switchOn,
          onAction: () => change.mutate({ schema, table, name, is_enabled: !isEnabled }),
        },
        { id: "remove", label: texts.remove, icon: "trash", isDanger: true, onAction: () => void onRemove() },
      ]}
    />
  );
}

const columns: readonly Column<TableWebhook>[] = [
  { id: "name", title: texts.name, cell: ({ name }) => <span className="cut">{name}</span> },
  {
    id: "table",
    title: texts.table,
    isMinor: true,
    cell: ({ schema, table }) => <code className="cut">{schema}.{table}</code>,
  },
  { id: "events", title: texts.events, isMinor: true, cell: ({ events }) => events.join(", ") },
  {
    id: "url",
    title: texts.url,
    width: "minmax(8rem, 2fr)",
    cell: ({ method, url }) => <code className="cut">{method} {url}</code>,
  },
  {
    id: "state",
    title: texts.state,
    width: "5rem",
    cell: ({ is_enabled: isEnabled }) => (
      <Badge tone={isEnabled ? "good" : "neutral"}>{isEnabled ? texts.on : texts.off}</Badge>
    ),
  },
];
const actions: Column<TableWebhook> = {
  id: "actions",
  title: "",
  name: jobsTexts.more,
  width: "3rem",
  cell: (hook) => <WebhookMenu hook={hook} />,
};
