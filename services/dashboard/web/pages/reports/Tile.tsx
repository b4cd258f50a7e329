import { lazy, Suspense, useEffect, useMemo } from "react";
import { useGo } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Card } from "../../components/basics.tsx";
import { IconButton } from "../../components/Button.tsx";
import { Menu, type MenuEntry } from "../../components/Menu.tsx";
import { Loading, Note, QueryView } from "../../components/states.tsx";
import { formatNumber } from "../../format.ts";
import type { ReportTile, StatementResult } from "../../generated/operations.ts";
import { isNumeric } from "../sql/result.ts";
import { ResultGrid } from "../sql/ResultGrid.tsx";
import { rangeParameters } from "./parameters.ts";
import { reportsTexts as texts } from "./texts.ts";

const loadPlot = () => import("../sql/ResultChart.tsx");
const ResultPlot = lazy(async () => ({ default: (await loadPlot()).ResultPlot }));

export interface TileActions {
  onEdit: () => void;
  onWiden: () => void;
  onRemove: () => void;
  onUp?: () => void;
  onDown?: () => void;
}

/** One saved query of a report, run over the time range and shown. */
export function Tile({ tile, endMs, rangeS, actions }: {
  tile: ReportTile;
  endMs: number;
  rangeS: number;
  actions?: TileActions;
}) {
  useEffect(() => {
    // Loaded while the query runs; if the file does not come, the part that shows it says so.
    if (tile.shown_as === "line" || tile.shown_as === "bar") loadPlot().catch(() => {});
  }, [tile.shown_as]);
  const snippet = useOperation("snippets.read", { name: tile.snippet }, { staleAfter: 30_000 });
  const sql = snippet.data?.text ?? "";
  // What the answer depends on is in the arguments: a moved clock asks again, an unchanged one does not.
  const run = useOperation("sql.run", {
    sql,
    as_reader: true,
    parameters: rangeParameters(sql, endMs, rangeS),
    id: `report ${endMs}`,
  }, { isEnabled: sql !== "", keepsPrevious: true, staleAfter: Infinity });
  const title = tile.title || tile.snippet;
  return (
    <div className={tile.is_wide ? "reports-wide" : ""}>
      <Card title={title} actions={<TileMenu tile={tile} title={title} actions={actions} />}>
        <QueryView query={snippet.data ? run : snippet as typeof run}>
          {({ results }) => <Shown tile={tile} title={title} result={results.at(-1)} />}
        </QueryView>
      </Card>
    </div>
  );
}

function Shown({ tile, title, result }: { tile: ReportTile; title: string; result: StatementResult | undefined }) {
  const rows = result?.rows ?? [];
  const columns = result?.columns ?? [];
  const place = (name: string | undefined) => columns.findIndex((column) => column.name === name);
  const y = useMemo(() => {
    const chosen = place(tile.y);
    return chosen >= 0 ? chosen : columns.findLastIndex((column) => isNumeric(column.type));
  }, [columns, tile.y]);
  const x = Math.max(0, place(tile.x) >= 0 ? place(tile.x) : columns.findIndex((_, index) => index !== y));
  if (!result || rows.length === 0) return <p className="soft">{texts.noRows}</p>;
  if (tile.shown_as === "number") {
    const at = Math.max(0, y);
    return (
      <p className="reports-number">
        <span className="number">{numberOf(rows[0]![at] ?? null, columns[at]?.type ?? "")}</span>
        <span className="soft">{columns[at]?.name}</span>
      </p>
    );
  }
  const cut = result.is_truncated && <Note kind="warn">{texts.cut(formatNumber(rows.length))}</Note>;
  if (tile.shown_as === "table") {
    return (
      <div className="reports-table">
        {cut}
        <ResultGrid label={title} result={result} height="16rem" />
      </div>
    );
  }
  if (y < 0) return <p className="soft">{texts.noNumbers}</p>;
  return (
    <Suspense fallback={<Loading />}>
      {cut}
      <ResultPlot kind={tile.shown_as === "bar" ? "bars" : "lines"} result={result} x={x} y={y} height={200} />
    </Suspense>
  );
}

function numberOf(text: string | null, type: string): string {
  if (text === null) return "–";
  return isNumeric(type) && Number.isFinite(Number(text)) ? formatNumber(Number(text)) : text;
}

function TileMenu({ tile, title, actions }: { tile: ReportTile; title: string; actions: TileActions | undefined }) {
  const go = useGo();
  const entries: MenuEntry[] = [
    {
      id: "sql",
      label: texts.openSql,
      icon: "terminal",
      onAction: () => go("sql", { snippet: tile.snippet }),
    },
  ];
  if (actions) {
    const { onEdit, onWiden, onRemove, onUp, onDown } = actions;
    entries.unshift({ id: "edit", label: texts.edit, icon: "edit", onAction: onEdit });
    if (onUp) entries.push({ id: "up", label: texts.up, icon: "arrowUp", onAction: onUp });
    if (onDown) entries.push({ id: "down", label: texts.down, icon: "arrowDown", onAction: onDown });
    entries.push(
      { id: "wide", label: tile.is_wide ? texts.narrow : texts.widen, icon: "columns", onAction: onWiden },
      { id: "remove", label: texts.removeTile, icon: "trash", isDanger: true, onAction: onRemove },
    );
  }
  const label = texts.tileMore(title);
  return <Menu label={label} button={<IconButton icon="more" label={label} size="small" />} entries={entries} />;
}
