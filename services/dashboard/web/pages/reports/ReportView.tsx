import { useEffect, useState } from "react";
import { Link, useGo, useSearch } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { PageHeader, Toolbar } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { Menu } from "../../components/Menu.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import { formatSpan } from "../../format.ts";
import type { Report, ReportInput, ReportTile } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { reportsTexts as texts } from "./texts.ts";
import { Tile } from "./Tile.tsx";
import { TileForm } from "./TileForm.tsx";

/** One report: its queries, over a time range, run again by hand or by a clock. */
export function ReportView({ name }: { name: string }) {
  const report = useOperation("reports.read", { name });
  return (
    <QueryView query={report}>
      {({ report: shown }) => <OpenReport name={name} report={shown} />}
    </QueryView>
  );
}

function OpenReport({ name, report }: { name: string; report: Report }) {
  const [search, changeSearch] = useSearch();
  const [edited, setEdited] = useState<number | "new" | null>(null);
  const mayChange = useMay("reports.save");
  const rangeS = secondsOf(search["range"], 60) ?? report.range_s ?? 86_400;
  const refreshS = secondsOf(search["refresh"], 0) ?? report.refresh_s ?? 0;
  const [endMs, refresh] = useClock(refreshS);
  const tiles = report.tiles ?? [];
  const { keep, keepTiles } = useReportChange(name, report);
  const removeTile = (index: number) => {
    const tile = tiles[index]!;
    keepTiles(tiles.toSpliced(index, 1));
    toast.done(texts.tileRemoved(tile.title || tile.snippet), {
      action: { label: shared.actions.undo, run: () => keepTiles(tiles) },
    });
  };
  const move = (index: number, by: number) =>
    keepTiles(tiles.toSpliced(index, 1).toSpliced(index + by, 0, tiles[index]!));
  return (
    <>
      <PageHeader
        title={name}
        actions={mayChange && (
          <>
            <Button variant="primary" icon="plus" onPress={() => setEdited("new")}>{texts.add}</Button>
            <ReportMenu name={name} onKeepRange={() => keep({ ...report, range_s: rangeS, refresh_s: refreshS })} />
          </>
        )}
      >
        <Link to="reports">{texts.back}</Link> {texts.reads}
      </PageHeader>
      <Toolbar label={texts.options}>
        <Select
          label={texts.range}
          size="small"
          value={String(rangeS)}
          onChange={(range) => changeSearch({ range })}
          choices={choicesOf(texts.ranges, rangeS, texts.otherRange)}
        />
        <Select
          label={texts.refresh}
          size="small"
          value={String(refreshS)}
          onChange={(every) => changeSearch({ refresh: every })}
          choices={choicesOf(texts.refreshes, refreshS, texts.otherRefresh)}
        />
        <IconButton icon="refresh" label={texts.refreshNow} onPress={refresh} />
      </Toolbar>
      {tiles.length === 0 && <EmptyState icon="gauge" title={texts.empty}>{texts.emptyText}</EmptyState>}
      <div className="reports-tiles">
        {tiles.map((tile, index) => (
          <Tile
            key={`${index} ${tile.snippet} ${tile.shown_as}`}
            tile={tile}
            endMs={endMs}
            rangeS={rangeS}
            {...(mayChange
              ? {
                actions: {
                  onEdit: () => setEdited(index),
                  onWiden: () => keepTiles(tiles.with(index, { ...tile, is_wide: !tile.is_wide })),
                  onRemove: () => removeTile(index),
                  ...(index > 0 ? { onUp: () => move(index, -1) } : {}),
                  ...(index < tiles.length - 1 ? { onDown: () => move(index, 1) } : {}),
                },
              }
              : {})}
          />
        ))}
      </div>
      {edited !== null && (
        <TileForm
          tile={edited === "new" ? null : tiles[edited] ?? null}
          onClose={() => setEdited(null)}
          onDone={(tile) => {
            keepTiles(edited === "new" ? [...tiles, tile] : tiles.with(edited, tile));
            setEdited(null);
          }}
        />
      )}
    </>
  );
}

function ReportMenu({ name, onKeepRange }: { name: string; onKeepRange: () => void }) {
  const go = useGo();
  const remove = useChange("reports.remove", {
    invalidates: ["reports.list"],
    doneText: texts.removed(name),
    onDone: () => go("reports"),
  });
  const onRemove = async () => {
    const question = { title: texts.removeTitle(name), body: texts.removeText, names: [name], action: texts.remove };
    if (await confirm(question)) remove.mutate({ name });
  };
  return (
    <Menu
      label={texts.more}
      button={<IconButton icon="more" label={texts.more} variant="plain" />}
      entries={[
        { id: "range", label: texts.keepRange, icon: "clock", onAction: onKeepRange },
        { id: "remove", label: texts.remove, icon: "trash", isDanger: true, onAction: () => void onRemove() },
      ]}
    />
  );
}

function useReportChange(name: string, report: Report) {
  const save = useChange("reports.save", { invalidates: ["reports."] });
  const keep = (changed: ReportInput) => save.mutate({ name, report: changed, replaces: true });
  const keepTiles = (tiles: readonly ReportTile[]) => keep({ ...report, tiles: [...tiles] });
  return { keep, keepTiles };
}

/** Return the end of the time range, now at first, and what moves it to now; it also moves every so many seconds. */
function useClock(everyS: number): readonly [number, () => void] {
  const [endMs, setEndMs] = useState(() => Date.now());
  const refresh = () => setEndMs(Date.now());
  useEffect(() => {
    if (everyS <= 0) return;
    const timer = setInterval(() => document.hidden || refresh(), everyS * 1_000);
    return () => clearInterval(timer);
  }, [everyS]);
  return [endMs, refresh];
}

function secondsOf(text: string | undefined, least: number): number | null {
  return text !== undefined && /^\d{1,8}$/.test(text) && Number(text) >= least ? Number(text) : null;
}

function choicesOf(labels: { readonly [seconds: string]: string }, chosen: number, other: (span: string) => string) {
  const all = Object.keys(labels).includes(String(chosen))
    ? labels
    : { ...labels, [String(chosen)]: other(formatSpan(chosen)) };
  return Object.entries(all).map(([id, label]) => ({ id, label }));
}
