/** What the address says of a table's view: filters, sorts, the caller, the open row. */

import { useMemo } from "react";
import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import type {
  DescribedTable,
  JsonValue,
  RowFilterInput,
  RowOfPage,
  RowSortInput,
  ViewAsInput,
} from "../../generated/operations.ts";

/** A filter as the address has it: `op` may begin with `not.`, the value is a text (for `in` separated by commas). */
export interface FilterEntry {
  column: string;
  op: string;
  value: string;
  /** Joined to the filter before by OR; such filters in a row are one condition. */
  isOr?: boolean;
}

export interface ViewState {
  filters: readonly FilterEntry[];
  sorts: readonly { column: string; isDescending: boolean }[];
  viewAs: ViewAsInput | null;
  isAtEnd: boolean;
}

/** Return the state of the view, and what changes parts of the address. */
export function useViewState() {
  const [search, changeSearch] = useSearch();
  const { filters, sort, as, at } = search;
  const state = useMemo<ViewState>(() => ({
    filters: parseFilters(filters),
    sorts: parseSorts(sort),
    viewAs: parseCaller(as),
    isAtEnd: at === "end",
  }), [filters, sort, as, at]);
  return {
    state,
    search,
    changeSearch,
    setFilters: (entries: readonly FilterEntry[]) => changeSearch({ filters: formatFilters(entries), at: null }, false),
    setSorts: (sorts: ViewState["sorts"]) => changeSearch({ sort: formatSorts(sorts), at: null }, false),
    setViewAs: (caller: ViewAsInput | null) => changeSearch({ as: formatCaller(caller), at: null }, false),
  };
}

/** Return the filters as rows.list takes them. */
function filterInputs(entries: readonly FilterEntry[]): RowFilterInput[] {
  return entries.map(({ column, op, value, isOr }) => {
    const isNegated = op.startsWith("not.");
    const name = isNegated ? op.slice(4) : op;
    const operand: JsonValue = name === "in" ? splitList(value) : value;
    return { column, op: name, value: operand, negated: isNegated, or_previous: isOr ?? false };
  });
}

/** Return the places of the filters by group: those of a group are joined by OR, groups by AND. */
export function filterGroups(entries: readonly FilterEntry[]): number[][] {
  const groups: number[][] = [];
  entries.forEach(({ isOr }, place) => isOr && place > 0 ? groups.at(-1)!.push(place) : groups.push([place]));
  return groups;
}

/** Return the filters without one; if it began a group, the next one of the group begins it. */
export function withoutFilter(entries: readonly FilterEntry[], place: number): FilterEntry[] {
  const isOr = entries[place]?.isOr ?? false;
  return entries
    .map((entry, index) => index === place + 1 && entry.isOr ? { ...entry, isOr } : entry)
    .toSpliced(place, 1);
}

/** Return the sorts after a column's head was chosen: ascending, then descending, then none; alone or beside the others. */
export function nextSorts(sorts: ViewState["sorts"], column: string, isAdded: boolean): ViewState["sorts"] {
  const others = sorts.filter((sort) => sort.column !== column);
  const present = sorts.find((sort) => sort.column === column);
  const next = !present
    ? [{ column, isDescending: false }]
    : present.isDescending
    ? []
    : [{ column, isDescending: true }];
  return isAdded ? [...others, ...next] : next;
}

/** Return the key of the open row; null without one. */
export function parseKey(text: string | undefined): RowOfPage["key"] | null {
  if (!text) return null;
  try {
    const key: unknown = JSON.parse(text);
    return typeof key === "object" && key !== null && !Array.isArray(key) ? key as RowOfPage["key"] : null;
  } catch {
    return null;
  }
}

function sortInputs(sorts: ViewState["sorts"]): RowSortInput[] {
  return sorts.map(({ column, isDescending }) => ({ column, descending: isDescending }));
}

/** Return what rows.list is asked for: the rows of the view, with the labels of foreign keys unless another caller reads them. */
export function useRowRequest(table: DescribedTable, { filters, sorts, viewAs }: ViewState) {
  const labels = useMemo(
    () => viewAs ? [] : table.columns.filter((column) => column.foreign_key?.label).map(({ name }) => name),
    [table, viewAs],
  );
  return useMemo(() => ({
    schema: table.schema,
    table: table.name,
    filters: filterInputs(filters),
    sorts: sortInputs(sorts),
    view_as: viewAs,
    labels,
  }), [table.schema, table.name, filters, sorts, viewAs, labels]);
}

/** "a, b" -> ["a", "b"]. */
export function splitList(text: string): string[] {
  return text.split(",").map((part) => part.trim()).filter((part) => part !== "");
}

/** A caller in words: `anon`, `ada@example.com` (`user 5f7b…` while it is being read), `authenticated`. */
export function useCallerName(caller: ViewAsInput | null): string {
  const id = caller?.user_id ?? "";
  const read = useOperation("users.read", { id }, { isEnabled: id !== "", staleAfter: 60_000 });
  if (!caller) return "";
  const user = read.data?.user;
  if (id) return user?.email || user?.phone || `user ${id.slice(0, 8)}…`;
  const subject = caller.claims?.["sub"];
  return `${caller.role ?? "anon"}${typeof subject === "string" ? ` (sub ${subject.slice(0, 8)}…)` : ""}`;
}

function parseFilters(text: string | undefined): FilterEntry[] {
  if (!text) return [];
  try {
    const parsed: unknown = JSON.parse(text);
    if (!Array.isArray(parsed)) return [];
    const entries = parsed.filter((entry): entry is string[] =>
      Array.isArray(entry) && entry.every((part) => typeof part === "string")
    );
    return entries.map(([column = "", op = "eq", value = "", join], place) => ({
      column,
      op,
      value,
      isOr: join === "or" && place > 0,
    }));
  } catch {
    return [];
  }
}

function formatFilters(entries: readonly FilterEntry[]): string | null {
  const parts = entries.map(({ column, op, value, isOr }) => [column, op, value, ...(isOr ? ["or"] : [])]);
  return parts.length ? JSON.stringify(parts) : null;
}

function parseSorts(text: string | undefined): { column: string; isDescending: boolean }[] {
  return (text ?? "").split(",").filter(Boolean).map((part) => ({
    column: decodeURIComponent(part.replace(/\.(asc|desc)$/, "")),
    isDescending: part.endsWith(".desc"),
  }));
}

function formatSorts(sorts: ViewState["sorts"]): string | null {
  const parts = sorts.map(({ column, isDescending }) =>
    `${encodeURIComponent(column)}.${isDescending ? "desc" : "asc"}`
  );
  return parts.length ? parts.join(",") : null;
}

function parseCaller(text: string | undefined): ViewAsInput | null {
  if (!text) return null;
  if (text.startsWith("user:")) return { role: "authenticated", user_id: text.slice(5) };
  if (!text.startsWith("{")) return { role: text };
  try {
    return JSON.parse(text) as ViewAsInput;
  } catch {
    return null;
  }
}

function formatCaller(caller: ViewAsInput | null): string | null {
  if (caller === null) return null;
  if (caller.user_id) return `user:${caller.user_id}`;
  if (!caller.claims || Object.keys(caller.claims).length === 0) return caller.role ?? "anon";
  return JSON.stringify(caller);
}
