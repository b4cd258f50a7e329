import { useState } from "react";
import { Link as RouterLink } from "@tanstack/react-router";
import { pathOf } from "../../address.tsx";
import { SearchField } from "../../components/Field.tsx";
import { Icon } from "../../components/Icon.tsx";
import type { RestItem } from "./openapi.ts";
import { restTexts as texts } from "./texts.ts";

/** Tables and functions, with a search. */
export function ItemList({ items, kind, name, search }: {
  items: readonly RestItem[];
  kind: string | undefined;
  name: string | undefined;
  search: { readonly [name: string]: string };
}) {
  const [part, setPart] = useState("");
  const shown = items.filter((item) => item.name.toLowerCase().includes(part.trim().toLowerCase()));
  const { schema, code } = search;
  const kept = { ...(schema ? { schema } : {}), ...(code ? { code } : {}) };
  return (
    <>
      <div className="rest-search">
        <SearchField label={texts.search} value={part} onChange={setPart} />
      </div>
      <div className="rest-lists">
        {shown.length === 0 && items.length > 0 && <p className="soft">{texts.none}</p>}
        {(["table", "function"] as const).map((group) => {
          const members = shown.filter((item) => item.kind === group);
          return members.length > 0 && (
            <section key={group}>
              <h2 className="rest-group">{group === "table" ? texts.tables : texts.functions}</h2>
              <ul>
                {members.map((item) => (
                  <li key={item.name}>
                    <RouterLink
                      to={`/${pathOf("rest", item.kind, item.name)}`}
                      search={kept as never}
                      className="rest-link"
                      {...(item.kind === kind && item.name === name ? { "aria-current": "page" as const } : {})}
                    >
                      <Icon name={group === "table" ? "table" : "function"} size={14} />
                      <span className="cut">{item.name}</span>
                    </RouterLink>
                  </li>
                ))}
              </ul>
            </section>
          );
        })}
      </div>
    </>
  );
}
