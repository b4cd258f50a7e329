import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CopyButton, KeyValue, Pagination } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { ProjectOAuthClient, SettingsList } from "../../generated/operations.ts";
import { ApplicationPanel } from "./ApplicationPanel.tsx";
import { ApplicationSecret, NewApplication } from "./NewApplication.tsx";
import { applicationTexts } from "./applicationTexts.ts";
import { OpenSetting, SettingRows } from "./SettingRows.tsx";

const texts = applicationTexts.clients;
const perPage = 100;

/** Clients of the project's OAuth server, and its settings. */
export default function Applications({ data }: { data: SettingsList }) {
  const isOn = data.settings.some(({ key, value }) => key === "auth.oauth_server.enabled" && value === true);
  return (
    <>
      <p className="soft auth-lead">{texts.lead}</p>
      {isOn ? <Clients /> : (
        <Card>
          <EmptyState icon="plug" title={texts.off}>{texts.offText}</EmptyState>
        </Card>
      )}
      <Card title={texts.server} isFlush>
        {isOn && <Discovery />}
        <SettingRows data={data} group={{ id: "oauth_server", keys: ["auth.oauth_server."] }} />
      </Card>
      <OpenSetting data={data} />
    </>
  );
}

function Discovery() {
  const addresses = useOperation("platform.snippets", {}, { staleAfter: 60_000 });
  if (!addresses.data) return null;
  const url = `${addresses.data.auth_url}/.well-known/openid-configuration`;
  return (
    <div className="auth-facts">
      <KeyValue
        entries={[[
          texts.discovery,
          <span key="url">
            <span className="auth-callback">
              <code>{url}</code> <CopyButton text={url} />
            </span>
            <span className="hint">{texts.discoveryHint}</span>
          </span>,
        ]]}
      />
    </div>
  );
}

function Clients() {
  const [search, changeSearch] = useSearch();
  const page = /^[1-9]\d{0,4}$/.test(search["page"] ?? "") ? Number(search["page"]) : 1;
  const clients = useOperation("oauth_clients.list", { page, per_page: perPage }, { keepsPrevious: true });
  const mayAdd = useMay("oauth_clients.create");
  const [isAdding, setAdding] = useState(false);
  const [secretOf, setSecretOf] = useState<ProjectOAuthClient | null>(null);
  const open = search["application"] ?? null;
  const add = mayAdd && <Button size="small" icon="plus" onPress={() => setAdding(true)}>{texts.add}</Button>;
  return (
    <>
      <Card title={texts.list} actions={add} isFlush>
        <QueryView
          query={clients}
          isEmpty={(rows) => rows.length === 0 && page === 1}
          empty={<EmptyState icon="plug" title={texts.none}>{texts.noneText}</EmptyState>}
        >
          {(rows) => (
            <>
              <DataTable
                label={texts.list}
                columns={columns}
                rows={rows}
                keyOf={({ client_id }) => client_id}
                openKey={open}
                onOpen={({ client_id }) => changeSearch({ application: client_id }, false)}
              />
              {(page > 1 || rows.length === perPage) && (
                <Pagination
                  hasPrevious={page > 1}
                  hasNext={rows.length === perPage}
                  onPrevious={() => changeSearch({ page: page === 2 ? null : String(page - 1) })}
                  onNext={() => changeSearch({ page: String(page + 1) })}
                  info={texts.page(page)}
                />
              )}
            </>
          )}
        </QueryView>
      </Card>
      {isAdding && <NewApplication onClose={() => setAdding(false)} onAdded={setSecretOf} />}
      {open !== null && (
        <ApplicationPanel
          key={open}
          id={open}
          onClose={() => changeSearch({ application: null })}
          onRenewed={setSecretOf}
        />
      )}
      {secretOf && <ApplicationSecret client={secretOf} onClose={() => setSecretOf(null)} />}
    </>
  );
}

const columns: readonly Column<ProjectOAuthClient>[] = [
  {
    id: "name",
    title: texts.name,
    cell: ({ client_name }) => <span className="cut">{client_name}</span>,
    width: "minmax(8rem, 1.2fr)",
  },
  {
    id: "type",
    title: texts.type,
    cell: ({ client_type }) => <Badge>{texts.types[client_type] ?? client_type}</Badge>,
    width: "7rem",
  },
  {
    id: "id",
    title: texts.id,
    cell: ({ client_id }) => <code className="cut">{client_id}</code>,
    width: "minmax(8rem, 1.6fr)",
    isMinor: true,
  },
  {
    id: "registration",
    title: texts.registration,
    cell: ({ registration_type }) => (
      <span className="cut soft">{texts.registrations[registration_type] ?? registration_type}</span>
    ),
    width: "10rem",
    isMinor: true,
  },
  {
    id: "created",
    title: texts.created,
    cell: ({ created_at }) => <Time value={created_at} />,
    width: "8rem",
    isMinor: true,
  },
];
