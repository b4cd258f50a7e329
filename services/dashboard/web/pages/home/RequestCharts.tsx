/** Charts of requests, drawn by uPlot. */

import { type ReactNode, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { keepPlot, plotColour } from "../../components/plot.ts";
import { formatMs, formatNumber } from "../../format.ts";
import type { MinuteFigures } from "../../generated/operations.ts";
import { homeTexts } from "./texts.ts";
import "./charts.css";

const texts = homeTexts.hour;
const hourS = 3_600;
const height = 150;
const leastS = 15;

interface Line {
  name: string;
  colour: string;
  isArea: boolean;
  format: (value: number) => string;
}

const counts: readonly Line[] = [
  { name: texts.requests, colour: "--series-1", isArea: true, format: rate },
  { name: texts.errors, colour: "--series-4", isArea: true, format: rate },
];
const times: readonly Line[] = [
  { name: "p50", colour: "--series-2", isArea: false, format: formatMs },
  { name: "p99", colour: "--series-3", isArea: false, format: formatMs },
];

/** Requests and errors a minute, and percentiles of their times. */
export default function RequestCharts({ points }: { points: readonly MinuteFigures[] }) {
  // The last minute is a part of one; of a few seconds it would say little.
  const shown = points.filter(({ seconds }, index) => seconds >= leastS || index < points.length - 1 || index === 0);
  const perMinute = (count: number, seconds: number) => seconds > 0 ? count / seconds * 60 : 0;
  const first = shown[0]!;
  const ends = [first.ended_at - first.seconds, ...shown.map(({ ended_at }) => ended_at)];
  // A value stands for the time before its end, so the first one begins at the beginning of its minute.
  const withFirst = (values: (number | null)[]) => [values[0] ?? null, ...values];
  const requests = withFirst(shown.map(({ answered, seconds }) => perMinute(answered, seconds)));
  const errors = withFirst(shown.map(({ errors, seconds }) => perMinute(errors, seconds)));
  const sum = (count: (point: MinuteFigures) => number) => points.reduce((total, point) => total + count(point), 0);
  const slowest = Math.max(...points.map(({ p99_ms }) => p99_ms ?? 0));
  return (
    <div className="charts">
      <Chart
        label={texts.perMinute}
        summary={texts.counted(
          formatNumber(sum(({ answered }) => answered)),
          formatNumber(sum(({ errors }) => errors)),
        )}
        data={[ends, requests, errors]}
        lines={counts}
      />
      <Chart
        label={texts.times}
        summary={slowest > 0 ? texts.slowest(formatMs(slowest)) : texts.noAnswer}
        data={[ends, withFirst(shown.map(({ p50_ms }) => p50_ms)), withFirst(shown.map(({ p99_ms }) => p99_ms))]}
        lines={times}
      />
    </div>
  );
}

type Data = [number[], (number | null)[], (number | null)[]];

function Chart({ label, summary, data, lines }: {
  label: string;
  summary: string;
  data: Data;
  lines: readonly Line[];
}) {
  const frame = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    return keepPlot(element, height, () => new uPlot(optionsOf(element, data, lines, setAt), data, element));
  }, [JSON.stringify(data)]);
  const index = at !== null && at < data[0].length ? at : null;
  return (
    <figure className="chart">
      <figcaption className="chart-head">
        <h3>{label}</h3>
        <span className="faint number">
          {index === null ? summary : clock.format(new Date(data[0][index]! * 1_000))}
        </span>
      </figcaption>
      <div ref={frame} role="img" aria-label={`${label}: ${summary}`} className="chart-plot" />
      <Legend lines={lines} valueOf={(line) => index === null ? null : data[line + 1]?.[index] ?? null} />
    </figure>
  );
}

function Legend({ lines, valueOf }: { lines: readonly Line[]; valueOf: (line: number) => number | null }): ReactNode {
  return (
    <ul className="chart-legend">
      {lines.map(({ name, colour, format }, index) => {
        const value = valueOf(index);
        return (
          <li key={name}>
            <span className="chart-swatch" style={{ background: `var(${colour})` }} aria-hidden="true" />
            {name} <span className="number soft">{value === null ? "" : format(value)}</span>
          </li>
        );
      })}
    </ul>
  );
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

function rate(value: number): string {
  return formatNumber(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));
}

function optionsOf(
  element: HTMLElement,
  data: Data,
  lines: readonly Line[],
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const colour = (name: string) => plotColour(element, name);
  const axis = {
    stroke: colour("--text-faint"),
    font: `11px ${getComputedStyle(element).fontFamily}`,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  const last = data[0][data[0].length - 1]!;
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 6 } },
    scales: {
      x: { range: [last - hourS, last] },
      y: { range: (_plot, _least, most) => [0, Math.max(most * 1.1, 1)] },
    },
    axes: [
      {
        ...axis,
        size: 24,
        gap: 4,
        grid: { show: false },
        space: 70,
        values: (_plot, ticks) => ticks.map((time) => clock.format(new Date(time * 1_000))),
      },
      {
        ...axis,
        size: 56,
        gap: 6,
        space: 36,
        values: (_plot, ticks) => ticks.map((tick) => tick === 0 ? "0" : lines[0]!.format(tick)),
      },
    ],
    series: [
      {},
      ...lines.map(({ name, colour: token, isArea }) => ({
        label: name,
        stroke: colour(token),
        width: 1.5,
        ...isArea
          ? { fill: faded(colour(token)), paths: uPlot.paths.stepped!({ align: -1 }), points: { show: false } }
          : { points: { show: true, size: 4, fill: colour(token), width: 0 } },
      })),
    ],
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
  };
}

/** Return a colour `rgb(1, 2, 3)` as a faint one. */
function faded(colour: string): string {
  return colour.replace(/^rgb\((.*)\)$/, "rgba($1, 0.18)");
}
