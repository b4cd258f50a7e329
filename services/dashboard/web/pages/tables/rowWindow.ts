/**
 * The rows around the place that is looked at: pages found by key, loaded at both ends as the grid scrolls, and dropped
 * at the other end, so that a table of any size needs the memory of `mostPages`.
 */

import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { run } from "../../api/client.ts";
import type { PageRequestInput, RowOfPage, StoredRow, TablePage } from "../../generated/operations.ts";

const pageSize = 200;
const mostPages = 30;
const longestCell = 300;
const liveEveryMs = 3_000;
/** Every loaded page is read again for live rows, so there must be few. */
const mostLivePages = 3;

type Place = { after?: string; before?: string; last?: boolean };

export interface WindowRequest extends Pick<PageRequestInput, "table" | "schema" | "filters" | "sorts" | "view_as"> {
  labels: string[];
}

/** Read the rows of a view; `isAtEnd` begins with the last ones, and another `visit` begins again. */
export function useRowWindow(request: WindowRequest, isAtEnd: boolean, isLive: boolean, visit: number) {
  const client = useQueryClient();
  const queryKey = ["rows.list", request, isAtEnd, visit];
  const query = useInfiniteQuery<TablePage, Error, InfiniteData<TablePage, Place>, unknown[], Place>({
    queryKey,
    initialPageParam: isAtEnd ? { last: true } : {},
    queryFn: ({ pageParam, signal }) =>
      run("rows.list", { ...request, ...pageParam, limit: pageSize, max_cell: longestCell }, { signal }),
    getNextPageParam: (page) => page.next === null ? undefined : { after: page.next },
    getPreviousPageParam: (page) => page.previous === null ? undefined : { before: page.previous },
    maxPages: mostPages,
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: false,
    retry: false,
    refetchInterval: ({ state }) => isLive && (state.data?.pages.length ?? 0) <= mostLivePages ? liveEveryMs : false,
  });
  const pages = query.data?.pages;
  const rows = useMemo<readonly RowOfPage[]>(() => pages?.flatMap((page) => page.rows) ?? [], [pages]);
  /** Show rows as they were stored, without reading their pages again. */
  const replaceRows = (changes: readonly { from: RowOfPage["key"]; to: StoredRow }[]) => {
    const changed = new Map(changes.map(({ from, to }) => [JSON.stringify(from), to]));
    client.setQueryData<InfiniteData<TablePage, Place>>(queryKey, (data) =>
      data && {
        ...data,
        pages: data.pages.map((page) => ({
          ...page,
          rows: page.rows.map((row) => {
            const stored = changed.get(JSON.stringify(row.key));
            return stored ? rowAsStored(page, row, stored) : row;
          }),
        })),
      });
  };
  return {
    query,
    rows,
    table: pages?.[0]?.table ?? null,
    columns: pages?.[0]?.columns ?? null,
    isKeyset: pages?.[0]?.paging === "key",
    rest: pages?.[0]?.rest ?? null,
    replaceRows,
  };
}

export type RowWindow = ReturnType<typeof useRowWindow>;

function rowAsStored(page: TablePage, row: RowOfPage, stored: StoredRow): RowOfPage {
  const whole = page.columns.map((name) => stored.values[name] ?? null);
  const shortened = whole.flatMap((value, index) => value !== null && value.length > longestCell ? [index] : []);
  const cells = whole.map((value) => value === null ? null : value.slice(0, longestCell));
  const labels = Object.fromEntries(
    Object.entries(row.labels).filter(([name]) => row.cells[page.columns.indexOf(name)] === stored.values[name]),
  );
  return { cells, key: stored.key, version: stored.version, shortened, labels };
}
