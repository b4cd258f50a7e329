import { Link as RouterLink } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { pathOf, useGo } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { IconButton } from "../../components/Button.tsx";
import { SearchField } from "../../components/Field.tsx";
import { Icon } from "../../components/Icon.tsx";
import { SchemaChooser } from "../../components/SchemaChooser.tsx";
import { QueryView } from "../../components/states.tsx";
import type { TableSummary } from "../../generated/operations.ts";
import { tablesTexts as texts } from "./texts.ts";

const itemHeight = 28;

/** The schemas and the tables of the chosen one, of any number, with a search. */
export function TableList({ schema, table, onCreate }: {
  schema: string;
  table: string | undefined;
  onCreate: (() => void) | null;
}) {
  const go = useGo();
  const [search, setSearch] = useState("");
  const list = useRef<HTMLUListElement>(null);
  const tables = useOperation("catalog.tables", { schema });
  return (
    <nav className="tables-side" aria-label={texts.list.label}>
      <div className="tables-side-head">
        <div className="tables-schema">
          <SchemaChooser value={schema} onChange={(name) => go(pathOf("tables", name))} />
          {onCreate && <IconButton icon="plus" variant="plain" label={texts.head.createTable} onPress={onCreate} />}
        </div>
        <SearchField label={texts.list.search} value={search} onChange={setSearch} />
      </div>
      <QueryView query={tables}>
        {(summaries) => <TableLinks list={list} summaries={summaries} search={search} schema={schema} table={table} />}
      </QueryView>
    </nav>
  );
}

function TableLinks({ list, summaries, search, schema, table }: {
  list: React.RefObject<HTMLUListElement | null>;
  summaries: readonly TableSummary[];
  search: string;
  schema: string;
  table: string | undefined;
}) {
  const part = search.trim().toLowerCase();
  const shown = useMemo(
    () =>
      summaries.filter(({ name }) => name.toLowerCase().includes(part)).sort((a, b) => a.name.localeCompare(b.name)),
    [summaries, part],
  );
  const matrix = useOperation("policies.matrix", { schemas: [schema], roles: ["anon"] }, { staleAfter: 60_000 });
  const open = useMemo(
    () => new Set(matrix.data?.filter((row) => row.select.verdict === "all_rows").map((row) => row.table)),
    [matrix.data],
  );
  const openIndex = shown.findIndex(({ name }) => name === table);
  const [active, setActive] = useState(0);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => list.current,
    estimateSize: () => itemHeight,
    overscan: 8,
  });
  useEffect(() => {
    setActive(Math.max(0, openIndex));
    if (openIndex >= 0) virtual.scrollToIndex(openIndex);
  }, [openIndex, part]);
  const onKeyDown = (event: KeyboardEvent) => {
    const moves: { [key: string]: number } = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      Home: 0,
      End: shown.length - 1,
    };
    const target = moves[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(shown.length - 1, target));
    setActive(next);
    virtual.scrollToIndex(next);
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`[data-index="${next}"] a`)?.focus());
  };
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  const stop = active >= first && active <= last ? active : first;
  if (shown.length === 0) return <p className="tables-side-none soft">{part ? texts.list.none : texts.list.empty}</p>;
  return (
    <ul ref={list} className="tables-list" onKeyDown={onKeyDown}>
      <li aria-hidden="true" style={{ height: virtual.getTotalSize() }} />
      {items.map(({ index, start }) => {
        const summary = shown[index]!;
        const isOpen = summary.name === table;
        return (
          <li
            key={summary.name}
            data-index={index}
            className="tables-item"
            style={{ transform: `translateY(${start}px)` }}
          >
            <RouterLink
              to={`/${pathOf("tables", schema, summary.name)}`}
              search={{} as never}
              tabIndex={index === stop ? 0 : -1}
              className="tables-link"
              {...(isOpen ? { "aria-current": "page" as const } : {})}
            >
              <Icon name={summary.kind.includes("view") ? "eye" : "table"} size={14} />
              <span className="cut">{summary.name}</span>
              {open.has(summary.name) && (
                <span className="tables-anon" title={texts.list.open}>
                  <Icon name="globe" size={12} />
                  <span className="for-readers">{texts.list.open}</span>
                </span>
              )}
              {summary.rows !== null && <span className="tables-count number">{shortNumber(summary.rows)}</span>}
            </RouterLink>
          </li>
        );
      })}
    </ul>
  );
}

const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

function shortNumber(value: number): string {
  return compact.format(value);
}
