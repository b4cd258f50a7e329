import { useEffect, useMemo, useRef, useState } from "react";
import { useSearch } from "../../address.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { EmptyState, ErrorNote, ErrorState, Loading, Note } from "../../components/states.tsx";
import { formatMs } from "../../format.ts";
import type { LogLineView, LogSearchInput } from "../../generated/operations.ts";
import { isOwn } from "./filters.ts";
import { Level } from "./Level.tsx";
import { LineDetails } from "./LineDetails.tsx";
import { logsTexts as texts } from "./texts.ts";
import { type LiveLines, useJoined, useSearchedLines } from "./useLines.ts";

const enoughLines = 60;
/** Pages that are read without anyone having scrolled, because those before had few lines to show. */
const mostEagerPages = 5;

interface LineListProps {
  args: LogSearchInput;
  live: LiveLines;
  isFollowing: boolean;
  isPaused: boolean;
}

/** The lines, the newest first; older pages come on scrolling, new lines while the top is in view. */
export function LineList({ args, live, isFollowing, isPaused }: LineListProps) {
  const [search, changeSearch] = useSearch();
  const pages = useSearchedLines(args);
  const searched = useMemo(() => pages.data?.pages.flatMap(({ lines }) => lines) ?? [], [pages.data]);
  const joined = useJoined(live.lines, searched);
  const hidesOwn = search["own"] !== "1" && !args.area && !args.request_id;
  const visible = useMemo(() => hidesOwn ? joined.filter((line) => !isOwn(line)) : joined, [joined, hidesOwn]);
  const held = useHeld(visible);
  const more = () => {
    if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage();
  };
  const pageCount = pages.data?.pages.length ?? 0;
  const isEager = pages.hasNextPage && visible.length < enoughLines && pageCount < mostEagerPages && !pages.error;
  useEffect(() => {
    if (isEager && !pages.isFetching) more();
  }, [isEager, pages.isFetching]);
  const openLine = visible.find(({ id }) => id === search["line"]);

  if (pages.data === undefined) {
    return pages.error ? <ErrorState error={pages.error} onRetry={() => void pages.refetch()} /> : <Loading />;
  }
  return (
    <>
      {live.hasGap && <Note kind="warn">{texts.gap}</Note>}
      <ErrorNote error={pages.error ?? live.error} />
      <div className="logs-list" ref={held.frame} onScrollCapture={held.onScroll}>
        {held.count > 0 && (
          <div className="logs-new">
            <Button size="small" variant="primary" icon="arrowUp" onPress={held.onTop}>
              {texts.newLines(held.count)}
            </Button>
          </div>
        )}
        {visible.length === 0 && !pages.isFetching && !pages.hasNextPage
          ? <EmptyState icon="search" title={texts.none}>{texts.noneHint}</EmptyState>
          : (
            <DataTable
              label={texts.lines}
              columns={columns}
              rows={held.rows}
              keyOf={({ id }) => id}
              rowHeight={27}
              onEnd={more}
              openKey={openLine?.id ?? null}
              onOpen={({ id }) => changeSearch({ line: id }, false)}
            />
          )}
      </div>
      <div className="logs-foot" role="status">
        <span className="soft number">{texts.shown(visible.length)}</span>
        {isFollowing && <span className="soft">{isPaused ? texts.isPaused : texts.isLive}</span>}
        {pages.isFetchingNextPage && (
          <span className="soft">
            <span className="spinner" aria-hidden="true" /> {texts.searching}
          </span>
        )}
        {pages.hasNextPage && !pages.isFetchingNextPage && !isEager && (
          <Button size="small" variant="quiet" onPress={more}>{texts.older}</Button>
        )}
      </div>
      {openLine && <LineDetails line={openLine} onClose={() => changeSearch({ line: null })} />}
    </>
  );
}

/** Keep the rows in their places while the top is out of view: new ones wait, and are counted. */
function useHeld(rows: readonly LogLineView[]) {
  const [top, setTop] = useState<string | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  const start = top === null ? 0 : Math.max(0, rows.findIndex(({ id }) => id === top));
  const held = useMemo(() => start === 0 ? rows : rows.slice(start), [rows, start]);
  const onScroll = (event: { target: EventTarget }) => {
    const isAtTop = (event.target as HTMLElement).scrollTop < 8;
    setTop(isAtTop ? null : top ?? rows[0]?.id ?? null);
  };
  const onTop = () => {
    setTop(null);
    const table = frame.current?.querySelector<HTMLElement>("[role=grid]");
    table?.scrollTo({ top: 0 });
    table?.querySelector<HTMLElement>("[data-index='0']")?.focus();
  };
  return { rows: held, count: start, frame, onScroll, onTop };
}

const columns: readonly Column<LogLineView>[] = [
  {
    id: "at",
    title: texts.columns.at,
    cell: ({ at }) => <time dateTime={at} title={at} className="logs-time">{clockOf(at)}</time>,
    width: "10rem",
  },
  { id: "level", title: texts.columns.level, cell: ({ level }) => <Level level={level} />, width: "5.5rem" },
  {
    id: "from",
    title: texts.columns.from,
    cell: (line) => <span className="cut soft">{line.function || line.area || line.process}</span>,
    width: "7.5rem",
    isMinor: true,
  },
  {
    id: "status",
    title: texts.columns.status,
    cell: ({ status }) => <Status status={status ?? 0} />,
    width: "4.75rem",
    isMinor: true,
  },
  {
    id: "text",
    title: texts.columns.text,
    cell: ({ text }) => <code className="cut">{text}</code>,
    width: "minmax(14rem, 1fr)",
  },
  {
    id: "took",
    title: texts.columns.took,
    cell: ({ duration_ms }) => duration_ms ? <span className="number soft">{formatMs(duration_ms)}</span> : "",
    width: "5rem",
    align: "end",
    isMinor: true,
  },
];

function Status({ status }: { status: number }) {
  const tone = status >= 500 ? "logs-bad" : status >= 400 ? "logs-warn" : "soft";
  return status ? <span className={`number ${tone}`}>{status}</span> : null;
}

const day = new Intl.DateTimeFormat(undefined, { day: "2-digit", month: "short" });
const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hourCycle: "h23",
});

/** A time -> "23 Nov 07:54:35.160" in the zone of the browser. */
function clockOf(at: string): string {
  const time = new Date(at);
  return `${day.format(time)} ${clock.format(time)}`;
}
