import { useState } from "react";
import { useOperation } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { formatNumber } from "../../format.ts";
import { texts as shellTexts } from "../../texts.ts";
import type { RowWindow, WindowRequest } from "./rowWindow.ts";
import { tablesTexts as texts } from "./texts.ts";

/** How many rows the view has: exactly if all are loaded or were counted, else as the planner estimates. */
export function RowCountNote({ request, rowWindow }: {
  request: WindowRequest;
  rowWindow: RowWindow;
}) {
  const [counted, setCounted] = useState<string | null>(null);
  const { query, rows } = rowWindow;
  const { schema, table, filters, view_as } = request;
  const args = { schema, table, filters, view_as, limit: 1, max_cell: 1 } as const;
  const wanted = JSON.stringify(args);
  const isExact = counted === wanted;
  const isWhole = query.data !== undefined && !query.hasNextPage && !query.hasPreviousPage;
  const count = useOperation(
    "rows.list",
    { ...args, filters: filters ?? [], count: isExact ? "exact" : "estimate", count_timeout_s: 10 },
    { isEnabled: query.data !== undefined && !isWhole, keepsPrevious: true, staleAfter: 60_000 },
  );
  if (query.data === undefined) return <span />;
  if (isWhole) return <span className="number">{texts.grid.exact(formatNumber(rows.length))}</span>;
  const result = count.data?.count;
  return (
    <>
      <span className="number" role="status">
        {result?.rows === null || result?.rows === undefined
          ? (isExact && count.data ? texts.grid.countFailed : "")
          : result.is_exact
          ? texts.grid.exact(formatNumber(result.rows))
          : texts.grid.estimate(formatNumber(result.rows))}
      </span>
      {!isExact && <Button size="small" variant="quiet" onPress={() => setCounted(wanted)}>{texts.grid.count}</Button>}
      {isExact && count.isFetching && <span className="soft">{shellTexts.states.loading}…</span>}
    </>
  );
}
