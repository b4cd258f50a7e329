import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Card, CodeBlock, CopyButton, KeyValue } from "../../components/basics.tsx";
import { QueryView } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import type { ClientAddresses } from "../../generated/operations.ts";
import { homeTexts } from "./texts.ts";

const texts = homeTexts.connect;

/** How applications connect: addresses, the publishable key, and code for each client. */
export function Connect() {
  const addresses = useOperation("platform.snippets", {}, { staleAfter: 60_000 });
  return (
    <Card title={texts.title}>
      <p className="soft home-lead">{texts.lead}</p>
      <QueryView query={addresses}>{(data) => <Addresses addresses={data} />}</QueryView>
    </Card>
  );
}

function Addresses({ addresses }: { addresses: ClientAddresses }) {
  const [search, changeSearch] = useSearch();
  const clients = addresses.snippets.map(({ client }) => client);
  const selected = clients.find((client) => client === search["client"]) ?? clients[0] ?? "";
  const copied = (text: string) => (
    <span className="home-copied">
      <code>{text}</code> <CopyButton text={text} />
    </span>
  );
  return (
    <div className="home-connect">
      <KeyValue
        entries={[
          [texts.url, copied(addresses.url)],
          [texts.key, copied(addresses.publishable_key)],
          [texts.rest, <code key="rest">{addresses.rest_url}</code>],
          [texts.graphql, <code key="graphql">{addresses.graphql_url}</code>],
          [texts.auth, <code key="auth">{addresses.auth_url}</code>],
          [texts.storage, <code key="storage">{addresses.storage_url}</code>],
          [texts.realtime, <code key="realtime">{addresses.realtime_url}</code>],
          [texts.functions, <code key="functions">{addresses.functions_url}</code>],
        ]}
      />
      <Tabs
        label={texts.clients}
        selected={selected}
        onSelect={(client) => changeSearch({ client })}
        tabs={addresses.snippets.map(({ client, install, code }) => ({
          id: client,
          title: client,
          content: (
            <div className="home-snippet">
              <CodeBlock label={`${client}: ${texts.install}`} code={install} />
              <CodeBlock label={`${client}: ${texts.code}`} code={code} />
            </div>
          ),
        }))}
      />
    </div>
  );
}
