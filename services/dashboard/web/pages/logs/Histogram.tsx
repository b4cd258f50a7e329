import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import { useSearch } from "../../address.tsx";
import { keepPlot, plotColour } from "../../components/plot.ts";
import { ErrorNote } from "../../components/states.tsx";
import type { HistogramView, LogSearchInput } from "../../generated/operations.ts";
import { useCountedLines } from "./countedLines.ts";
import { logsTexts as texts } from "./texts.ts";

const height = 76;
const dayS = 86_400;

interface Bars {
  data: [number[], number[], number[], number[]];
  from: number;
  to: number;
  counts: { all: number; warning: number; error: number };
}

/** How many lines there are by time and level. A time that is dragged over becomes the time of the search. */
export default function Histogram({ args, now }: { args: LogSearchInput; now: number }) {
  const [, changeSearch] = useSearch();
  const counted = useCountedLines(args);
  const histogram = counted.data?.histogram;
  const bars = useMemo(() => histogram ? barsOf(histogram, args, now) : null, [histogram, args, now]);
  const frame = useRef<HTMLDivElement>(null);
  const choose = useRef(changeSearch);
  choose.current = changeSearch;
  useEffect(() => {
    const element = frame.current;
    if (!element || !bars) return;
    const onChoose = (since: string, until: string) =>
      choose.current({ since, until, range: null, follow: null, line: null }, false);
    return keepPlot(element, height, () => new uPlot(optionsOf(element, bars, onChoose), bars.data, element));
  }, [bars]);
  const counts = bars?.counts ?? { all: 0, warning: 0, error: 0 };
  const text = [texts.counts.all(counts.all), texts.counts.error(counts.error), texts.counts.warning(counts.warning)]
    .join(", ");
  return (
    <figure className="logs-histogram" title={texts.barHint}>
      <div ref={frame} role="img" aria-label={`${texts.histogram}: ${text}`} className="logs-chart" />
      <figcaption className="faint">
        {bars ? text : " "} {histogram?.is_complete === false && texts.histogramPart}
      </figcaption>
      <ErrorNote error={counted.error && !counted.data ? counted.error : null} />
    </figure>
  );
}

function optionsOf(
  element: HTMLElement,
  bars: Bars,
  onChoose: (since: string, until: string) => void,
): uPlot.Options {
  const colour = (name: string) => plotColour(element, name);
  const paths = uPlot.paths.bars!({ size: [0.8, 24], align: 1 });
  const series = (name: string, fill: string) => ({
    label: name,
    fill,
    stroke: fill,
    width: 0,
    paths,
    points: { show: false },
  });
  const clock = new Intl.DateTimeFormat(undefined, {
    ...(bars.to - bars.from > dayS ? { day: "2-digit", month: "short" } : {}),
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const axis = { stroke: colour("--text-faint"), font: `11px ${getComputedStyle(element).fontFamily}` };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, y: false, points: { show: false } },
    scales: { x: { range: [bars.from, bars.to] }, y: { range: (_plot, _least, most) => [0, Math.max(most, 1)] } },
    axes: [
      {
        ...axis,
        size: 22,
        gap: 2,
        grid: { show: false },
        ticks: { show: false },
        space: 110,
        values: (_plot, times) => times.map((time) => clock.format(new Date(time * 1_000))),
      },
      { show: false },
    ],
    series: [
      {},
      series(texts.levelNames.info, colour("--series-1")),
      series(texts.levelNames.warning, colour("--series-3")),
      series(texts.levelNames.error, colour("--series-4")),
    ],
    hooks: {
      setSelect: [(plot) => {
        if (plot.select.width < 4) return;
        const timeAt = (left: number) => new Date(plot.posToVal(left, "x") * 1_000).toISOString();
        onChoose(timeAt(plot.select.left), timeAt(plot.select.left + plot.select.width));
      }],
    },
  };
}

/** Return bars over the whole time of the search; those of graver levels stand in front of the sum. */
function barsOf(histogram: HistogramView, args: LogSearchInput, now: number): Bars {
  const width = histogram.width_s;
  const seconds = (text: string) => new Date(text).getTime() / 1_000;
  const times = histogram.bars.map(({ at }) => seconds(at));
  const until = Math.max(args.until ? seconds(args.until) : now / 1_000, ...times.map((time) => time + width));
  const since = args.since ? seconds(args.since) : Math.min(until - width, ...times);
  const first = Math.min(Math.floor(since / width) * width, ...times);
  const length = Math.max(1, Math.min(2_000, Math.ceil((until - first) / width)));
  const data: Bars["data"] = [
    Array.from({ length }, (_, index) => first + index * width),
    Array<number>(length).fill(0),
    Array<number>(length).fill(0),
    Array<number>(length).fill(0),
  ];
  const counts = { all: 0, warning: 0, error: 0 };
  for (const { at, level, lines } of histogram.bars) {
    const index = Math.min(length - 1, Math.round((seconds(at) - first) / width));
    counts.all += lines;
    data[1][index]! += lines;
    if (level === "warning" || level === "error") data[2][index]! += lines;
    if (level === "error") data[3][index]! += lines;
    if (level === "warning" || level === "error") counts[level] += lines;
  }
  return { data, from: first, to: first + length * width, counts };
}
