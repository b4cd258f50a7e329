/** REST: what is served of a schema to a caller, as requests to copy and to try. */

import { useQuery } from "@tanstack/react-query";
import { Link, useSearch, useSubpath } from "../../address.tsx";
import { askAsApp } from "../../api/gateway.ts";
import { useOperation } from "../../api/hooks.ts";
import { PageHeader } from "../../components/basics.tsx";
import { CallerMenu, useCaller } from "../../components/Caller.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { ItemList } from "./ItemList.tsx";
import { ItemView } from "./ItemView.tsx";
import { itemsOf, type RestItem } from "./openapi.ts";
import { profile } from "./requests.ts";
import { restTexts as texts } from "./texts.ts";
import "./rest.css";

export default function RestPage() {
  const [kind, name] = useSubpath();
  const [search, changeSearch] = useSearch();
  const schema = search["schema"] ?? "public";
  const caller = useCaller();
  const addresses = useOperation("platform.snippets", {}, { staleAfter: 600_000 });
  const key = addresses.data?.publishable_key;
  const schemas = useOperation("catalog.schemas", {}, { staleAfter: 60_000 });
  const document = useQuery({
    queryKey: ["rest-document", schema, caller?.id ?? ""],
    queryFn: ({ signal }) => readItems(schema, key!, caller, signal),
    enabled: key !== undefined,
    retry: false,
  });
  const names = schemas.data?.map((found) => found.name) ?? [];
  const choices = [...new Set([schema, ...names])].map((id) => ({ id, label: id }));
  const item = document.data?.find((other) => other.kind === kind && other.name === name);
  return (
    <div className={`fill rest${name === undefined ? "" : " rest-open"}`}>
      <nav className="rest-side" aria-label={texts.list}>
        <div className="rest-side-head">
          <Select
            label={texts.schema}
            hidesLabel
            choices={choices}
            value={schema}
            onChange={(chosen) => changeSearch({ schema: chosen === "public" ? null : chosen })}
          />
          <CallerMenu />
        </div>
        {document.data && <ItemList items={document.data} kind={kind} name={name} search={search} />}
      </nav>
      <div className="rest-main">
        <PageHeader title={name ?? texts.title}>
          {name === undefined ? texts.lead : <Link to="rest" search={keptSearch(search)}>{texts.back}</Link>}
        </PageHeader>
        <QueryView
          query={document}
          isEmpty={(items) => items.length === 0}
          empty={<EmptyState icon="code" title={texts.empty}>{texts.emptyText}</EmptyState>}
        >
          {() =>
            name === undefined
              ? <EmptyState icon="code" title={texts.choose}>{texts.chooseText}</EmptyState>
              : item && addresses.data
              ? <ItemView key={`${kind}/${name}`} item={item} schema={schema} addresses={addresses.data} />
              : <EmptyState icon="eyeOff" title={texts.gone(name)}>{texts.goneText}</EmptyState>}
        </QueryView>
      </div>
    </div>
  );
}

/** What of the address stays when another table is opened. */
function keptSearch(search: { readonly [name: string]: string }): { [name: string]: string } {
  const { schema, code } = search;
  return { ...(schema ? { schema } : {}), ...(code ? { code } : {}) };
}

async function readItems(
  schema: string,
  key: string,
  caller: Parameters<typeof askAsApp>[2],
  signal: AbortSignal,
): Promise<readonly RestItem[]> {
  const answer = await askAsApp({ path: "/rest/v1/", headers: profile(schema, "Accept-Profile") }, key, caller, signal);
  const body: unknown = JSON.parse(answer.text);
  if (answer.status !== 200) throw errorIn(body, answer.status);
  return itemsOf(body);
}

function errorIn(body: unknown, status: number): Error {
  const { message, hint } = body as { message?: string; hint?: string };
  return new Error([message ?? `status ${status}`, hint].filter(Boolean).join(" "));
}
