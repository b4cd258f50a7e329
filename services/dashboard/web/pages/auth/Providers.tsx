import { lazy, Suspense } from "react";
import { useSearch } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CopyButton, KeyValue, Toolbar } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { SearchField } from "../../components/Field.tsx";
import { EmptyState, ErrorNote, Note, QueryView } from "../../components/states.tsx";
import type { ProviderDescription, SettingsList } from "../../generated/operations.ts";
import { OpenSetting, SettingRows } from "./SettingRows.tsx";
import { authTexts } from "./texts.ts";

const texts = authTexts.providers;
const SettingsForm = lazy(() => import("./SettingsForm.tsx"));

/** Every provider of sign-in; one of them with its settings beside the list. */
export function Providers({ data }: { data: SettingsList }) {
  const providers = useOperation("auth.providers", {});
  const [search, changeSearch] = useSearch();
  const text = search["find"] ?? "";
  return (
    <QueryView query={providers}>
      {(all) => {
        const rows = sorted(all).filter(({ name }) => name.includes(text.trim().toLowerCase()));
        const open = all.find(({ name }) => name === search["provider"]);
        return (
          <>
            <Card isFlush>
              <Toolbar label={authTexts.filters}>
                <SearchField label={texts.search} value={text} onChange={(find) => changeSearch({ find })} />
              </Toolbar>
              {rows.length === 0 ? <EmptyState icon="search" title={texts.none} /> : (
                <DataTable
                  label={authTexts.tabs.providers}
                  columns={columns}
                  rows={rows}
                  keyOf={({ name }) => name}
                  openKey={open?.name ?? null}
                  onOpen={({ name }) => changeSearch({ provider: name }, false)}
                />
              )}
            </Card>
            {open && (
              <Provider
                provider={open}
                data={data}
                onClose={() => changeSearch({ provider: null, setting: null })}
              />
            )}
          </>
        );
      }}
    </QueryView>
  );
}

function sorted(providers: readonly ProviderDescription[]): readonly ProviderDescription[] {
  return [...providers].sort((one, other) =>
    Number(other.is_enabled) - Number(one.is_enabled) || one.name.localeCompare(other.name)
  );
}

function Provider(
  { provider, data, onClose }: { provider: ProviderDescription; data: SettingsList; onClose: () => void },
) {
  const mayCheck = useMay("auth.check_provider");
  const check = useChange("auth.check_provider", { showsError: true });
  const mayChange = useMay("settings.change");
  const [search, changeSearch] = useSearch();
  const { name, callback_url } = provider;
  const group = { id: name, keys: [`auth.external.${name}.`] };
  return (
    <Dialog title={titleOf(name)} isOpen size="side" onClose={onClose}>
      <KeyValue
        entries={[
          [texts.state, <ProviderState key="state" provider={provider} />],
          [
            texts.callback,
            <span key="callback">
              <span className="auth-callback">
                <code>{callback_url}</code> <CopyButton text={callback_url} />
              </span>
              <span className="hint">{texts.callbackHint}</span>
            </span>,
          ],
        ]}
      />
      {provider.has_discovery && mayCheck && (
        <div>
          <Button size="small" icon="check" isPending={check.isPending} onPress={() => check.mutate({ name })}>
            {texts.check}
          </Button>
        </div>
      )}
      {check.data && (
        <Note kind={check.data.is_usable ? "good" : "warn"}>
          {check.data.is_usable ? texts.usable : texts.unusable}. {check.data.message}
        </Note>
      )}
      <ErrorNote error={check.error} />
      <section className="auth-panel">
        <h3>{texts.settings}</h3>
        {mayChange && (
          <div>
            <Button size="small" icon="edit" onPress={() => changeSearch({ form: name })}>{authTexts.form.open}</Button>
          </div>
        )}
        <SettingRows data={data} group={group} />
      </section>
      <OpenSetting data={data} />
      {search["form"] === name && mayChange && (
        <Suspense>
          <SettingsForm
            title={authTexts.groupForm(titleOf(name))}
            data={data}
            group={group}
            test={provider.has_discovery && mayCheck ? { kind: "provider", name } : null}
            onClose={() => changeSearch({ form: null })}
          />
        </Suspense>
      )}
    </Dialog>
  );
}

function ProviderState({ provider }: { provider: ProviderDescription }) {
  if (!provider.is_enabled) return <span className="faint">{texts.disabled}</span>;
  return provider.client_id && provider.has_secret
    ? <Badge tone="good" icon="check">{texts.enabled}</Badge>
    : <Badge tone="warn" icon="alert">{texts.incomplete}</Badge>;
}

function titleOf(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
}

const columns: readonly Column<ProviderDescription>[] = [
  { id: "name", title: texts.name, cell: ({ name }) => titleOf(name), width: "minmax(8rem, 1fr)" },
  { id: "state", title: texts.state, cell: (provider) => <ProviderState provider={provider} />, width: "8rem" },
  {
    id: "client",
    title: texts.client,
    cell: ({ client_id }) => <code className="cut">{client_id}</code>,
    width: "minmax(8rem, 1.5fr)",
    isMinor: true,
  },
  {
    id: "secret",
    title: texts.secret,
    cell: ({ has_secret }) => <span className="faint">{has_secret ? texts.hasSecret : texts.noSecret}</span>,
    width: "7rem",
    isMinor: true,
  },
];
