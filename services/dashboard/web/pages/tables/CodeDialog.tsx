import { useOperation } from "../../api/hooks.ts";
import { CodeBlock } from "../../components/basics.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Note, QueryView } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import { useSearch } from "../../address.tsx";
import type { DescribedTable, RestRequest } from "../../generated/operations.ts";
import { asDart, asPython, asSql } from "./codeOfView.ts";
import { tablesTexts as texts } from "./texts.ts";
import { type FilterEntry, filterGroups, splitList, type ViewState } from "./viewState.ts";

/** The view as a request that a program sends: REST, supabase-js, curl. */
export function CodeDialog({ table, state, rest, onClose }: {
  table: DescribedTable;
  state: ViewState;
  rest: RestRequest | null;
  onClose: () => void;
}) {
  const addresses = useOperation("platform.snippets", {}, { staleAfter: 600_000 });
  const [search, changeSearch] = useSearch();
  return (
    <Dialog title={texts.code.title} isOpen onClose={onClose} size="large">
      {rest === null ? <Note>{texts.code.none}</Note> : (
        <QueryView query={addresses}>
          {({ url, publishable_key: key }) => (
            <>
              <Tabs
                label={texts.code.title}
                selected={search["code"] ?? "rest"}
                onSelect={(code) => changeSearch({ code })}
                tabs={[
                  { id: "rest", title: texts.code.rest, code: asRest(url, rest) },
                  { id: "client", title: texts.code.client, code: asClient(table, state, rest, url, key) },
                  { id: "curl", title: texts.code.curl, code: asCurl(url, rest, key) },
                  { id: "python", title: texts.code.python, code: asPython(table, state, rest, url, key) },
                  { id: "dart", title: texts.code.dart, code: asDart(table, state, rest, url, key) },
                  { id: "sql", title: texts.code.sql, code: asSql(table, state) },
                ].map(({ code, ...tab }) => ({ ...tab, content: <CodeBlock label={tab.title} code={code} /> }))}
              />
              <p className="hint">{texts.code.note}</p>
            </>
          )}
        </QueryView>
      )}
    </Dialog>
  );
}

function asRest(url: string, rest: RestRequest): string {
  const headers = Object.entries(rest.headers).map(([name, value]) => `\n${name}: ${value}`).join("");
  return `GET ${url.replace(/\/$/, "")}${rest.path}${headers}`;
}

function asCurl(url: string, rest: RestRequest, key: string): string {
  const headers = Object.entries({ apikey: key, ...rest.headers }).map(([name, value]) =>
    ` \\\n  -H ${quoted(`${name}: ${value}`)}`
  );
  return `curl ${quoted(url.replace(/\/$/, "") + rest.path)}${headers.join("")}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function asClient(table: DescribedTable, state: ViewState, rest: RestRequest, url: string, key: string): string {
  const text = (value: unknown) => JSON.stringify(value);
  const schema = rest.headers["Accept-Profile"];
  return [
    `import { createClient } from "@supabase/supabase-js";`,
    "",
    `const client = createClient(${text(url)}, ${text(key)});`,
    "const { data, error } = await client",
    ...(schema ? [`  .schema(${text(schema)})`] : []),
    `  .from(${text(table.name)})`,
    `  .select("*")`,
    ...filterCalls(state.filters, rest),
    ...state.sorts.map(({ column, isDescending }) => `  .order(${text(column)}, { ascending: ${!isDescending} })`),
    "  .limit(200);",
  ].join("\n");
}

/** Return a call for each group of filters; those of several are the trees of the REST request, in the same order. */
function filterCalls(filters: readonly FilterEntry[], rest: RestRequest): string[] {
  const trees = new URLSearchParams(rest.path.slice(rest.path.indexOf("?"))).getAll("or").values();
  return filterGroups(filters).map((group) =>
    group.length > 1
      ? `  .or(${JSON.stringify(trees.next().value?.slice(1, -1) ?? "")})`
      : `  ${filterCall(filters[group[0]!]!)}`
  );
}

const plainCalls: { readonly [op: string]: string } = {
  eq: "eq",
  neq: "neq",
  gt: "gt",
  gte: "gte",
  lt: "lt",
  lte: "lte",
  ilike: "ilike",
  fts: "textSearch",
  cs: "contains",
};

function filterCall({ column, op, value }: FilterEntry): string {
  const name = JSON.stringify(column);
  const operand = JSON.stringify(value);
  if (op === "in") return `.in(${name}, ${JSON.stringify(splitList(value))})`;
  if (op === "is") return `.is(${name}, ${value})`;
  if (op === "not.is") return `.not(${name}, "is", ${value})`;
  if (op.startsWith("not.")) return `.not(${name}, ${JSON.stringify(op.slice(4))}, ${operand})`;
  const call = plainCalls[op];
  return call ? `.${call}(${name}, ${operand})` : `.filter(${name}, ${JSON.stringify(op)}, ${operand})`;
}
