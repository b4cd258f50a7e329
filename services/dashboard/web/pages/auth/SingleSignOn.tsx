import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CopyButton, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CodeWords } from "../../components/CodeWords.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import type { SettingsList } from "../../generated/operations.ts";
import { applicationTexts } from "./applicationTexts.ts";
import { NewSsoProvider } from "./NewSsoProvider.tsx";
import { OpenSetting, SettingRows } from "./SettingRows.tsx";
import { type SsoProvider, ssoProviderOf } from "./ssoProvider.ts";
import { SsoProviderPanel } from "./SsoProviderPanel.tsx";

const texts = applicationTexts.sso;

/** Identity providers of organizations, and the settings of single sign-on. */
export default function SingleSignOn({ data }: { data: SettingsList }) {
  const isOn = data.settings.some(({ key, value }) => key === "auth.saml.enabled" && value === true);
  return (
    <>
      <p className="soft auth-lead">{texts.lead}</p>
      {!isOn && (
        <Note>
          <p>
            <strong>{texts.off}</strong>
          </p>
          <p>
            <CodeWords text={texts.offText} />
          </p>
        </Note>
      )}
      <Providers />
      <Card title={texts.settings} isFlush>
        {isOn && <Addresses />}
        <SettingRows data={data} group={{ id: "saml", keys: ["auth.saml.", "auth.scim."] }} />
      </Card>
      <OpenSetting data={data} />
    </>
  );
}

function Addresses() {
  const addresses = useOperation("platform.snippets", {}, { staleAfter: 60_000 });
  if (!addresses.data) return null;
  const copied = (url: string) => (
    <span key={url} className="auth-callback">
      <code>{url}</code> <CopyButton text={url} />
    </span>
  );
  return (
    <div className="auth-facts">
      <p className="hint">{texts.metadataHint}</p>
      <KeyValue
        entries={[
          [texts.metadata, copied(`${addresses.data.auth_url}/sso/saml/metadata`)],
          [texts.acs, copied(`${addresses.data.auth_url}/sso/saml/acs`)],
        ]}
      />
    </div>
  );
}

function Providers() {
  const providers = useOperation("sso_providers.list", {});
  const [search, changeSearch] = useSearch();
  const mayAdd = useMay("sso_providers.create");
  const [isAdding, setAdding] = useState(false);
  const open = search["idp"] ?? null;
  return (
    <Card
      title={texts.list}
      actions={mayAdd && <Button size="small" icon="plus" onPress={() => setAdding(true)}>{texts.add}</Button>}
      isFlush
    >
      <QueryView
        query={providers}
        isEmpty={(rows) => rows.length === 0 && open === null}
        empty={<EmptyState icon="users" title={texts.none}>{texts.noneText}</EmptyState>}
      >
        {(rows) => (
          <>
            <DataTable
              label={texts.list}
              columns={columns}
              rows={rows.map(ssoProviderOf)}
              keyOf={({ id }) => id}
              openKey={open}
              onOpen={({ id }) => changeSearch({ idp: id }, false)}
            />
            {open !== null && (
              <SsoProviderPanel
                key={open}
                provider={rows.map(ssoProviderOf).find(({ id }) => id === open) ?? null}
                onClose={() => changeSearch({ idp: null })}
              />
            )}
          </>
        )}
      </QueryView>
      {isAdding && <NewSsoProvider onClose={() => setAdding(false)} />}
    </Card>
  );
}

const columns: readonly Column<SsoProvider>[] = [
  {
    id: "entity",
    title: texts.entity,
    cell: ({ entityId }) => <code className="cut">{entityId}</code>,
    width: "minmax(9rem, 2fr)",
  },
  {
    id: "domains",
    title: texts.domains,
    cell: ({ domains }) => (
      <span className="cut" title={domains.join(", ")}>
        {domains.join(", ") || <span className="faint">{texts.noDomains}</span>}
      </span>
    ),
    width: "minmax(7rem, 1fr)",
    isMinor: true,
  },
  {
    id: "state",
    title: texts.state,
    cell: ({ isDisabled }) =>
      isDisabled ? <Badge>{texts.disabled}</Badge> : <Badge tone="good" icon="check">{texts.on}</Badge>,
    width: "8rem",
  },
];
