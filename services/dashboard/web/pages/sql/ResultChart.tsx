/** A chart of a result, by uPlot, which is loaded when the first one is shown. */

import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { keepPlot, plotColour } from "../../components/plot.ts";
import { Select } from "../../components/Select.tsx";
import { EmptyState } from "../../components/states.tsx";
import { isNumeric, type Rows } from "./result.ts";
import { sqlTexts as texts } from "./texts.ts";

const mostPoints = 10_000;
const usualHeight = 260;
/** Signs of a name below a bar, and the width of one in px. */
const mostSigns = 16;
const nameSignPx = 7;
type Kind = "lines" | "bars";

export default function ResultChart({ result }: { result: Rows }) {
  const numeric = result.columns.flatMap((column, index) => isNumeric(column.type) ? [String(index)] : []);
  const first = result.columns.findIndex((_, index) => String(index) !== numeric[0]);
  const [kind, setKind] = useState<Kind>("bars");
  const [x, setX] = useState(String(Math.max(0, first)));
  const [y, setY] = useState(numeric.find((index) => index !== x) ?? numeric[0] ?? "");
  if (numeric.length === 0 || result.rows.length === 0) return <EmptyState icon="activity" title={texts.noNumbers} />;
  const choices = result.columns.map((column, index) => ({ id: String(index), label: column.name }));
  return (
    <div className="sql-chart">
      <div className="sql-chart-bar" role="group" aria-label={texts.chart}>
        <Select
          label={texts.chartKind}
          size="small"
          value={kind}
          onChange={setKind}
          choices={[{ id: "bars", label: texts.bars }, { id: "lines", label: texts.lines }]}
        />
        <Select label={texts.chartX} size="small" value={x} onChange={setX} choices={choices} />
        <Select
          label={texts.chartY}
          size="small"
          value={y}
          onChange={setY}
          choices={choices.filter((choice) => numeric.includes(choice.id))}
        />
      </div>
      <ResultPlot key={`${kind} ${x} ${y}`} kind={kind} result={result} x={Number(x)} y={Number(y)} />
    </div>
  );
}

/** A chart of two columns, by their places. */
export function ResultPlot({ kind, result, x, y, height = usualHeight }: {
  kind: Kind;
  result: Rows;
  x: number;
  y: number;
  height?: number;
}) {
  const host = useRef<HTMLDivElement>(null);
  const points = useMemo(() => pointsOf(result, x, y), [result.rows, x, y]);
  useEffect(() => {
    const element = host.current!;
    return keepPlot(
      element,
      height,
      () => new uPlot(optionsOf(element, kind, points, height), [points.x, points.y], element),
    );
  }, [points, kind, height]);
  const label = texts.chartLabel(result.columns[y]?.name ?? "", result.columns[x]?.name ?? "", points.x.length);
  return <div ref={host} className="sql-plot" role="img" aria-label={label} />;
}

function optionsOf(element: HTMLElement, kind: Kind, points: Points, height: number): uPlot.Options {
  const colour = (name: string) => plotColour(element, name);
  const axis = {
    stroke: colour("--text-soft"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { drag: { x: true, y: false } },
    scales: {
      x: {
        time: points.kind === "time",
        ...(kind === "bars"
          ? { range: (_: uPlot, least: number, most: number) => padded(least, most, points.x.length) }
          : {}),
      },
    },
    axes: [
      {
        ...axis,
        ...(points.kind === "names"
          ? {
            space: longestName(points.names) * nameSignPx + 12,
            values: (_: uPlot, splits: number[]) => splits.map((at) => points.names[at]?.slice(0, mostSigns) ?? ""),
          }
          : {}),
      },
      { ...axis, size: 64 },
    ],
    series: [{}, {
      stroke: colour("--series-1"),
      width: 1.5,
      ...(kind === "bars"
        ? { fill: colour("--series-1"), paths: uPlot.paths.bars!({ size: [0.7, 60] }), points: { show: false } }
        : {}),
    }],
  };
}

/** Return a range with half a bar on both sides. */
function padded(least: number, most: number, count: number): [number, number] {
  const half = count > 1 ? (most - least) / (count - 1) / 2 : 0.5;
  return [least - half, most + half];
}

interface Points {
  kind: "time" | "numbers" | "names";
  x: number[];
  y: (number | null)[];
  names: string[];
}

/** Seconds of a time as Postgres writes it: `2026-03-01 10:00:00+00`, whose offset may lack its minutes. */
function timeOf(text: string): number {
  return Date.parse(text.replace(" ", "T").replace(/(:\d\d(?:\.\d+)?[+-]\d\d)$/, "$1:00")) / 1000;
}

function pointsOf({ columns, rows }: Rows, x: number, y: number): Points {
  const type = columns[x]?.type ?? "";
  const kind = /^(timestamp|date)/.test(type) ? "time" : isNumeric(type) && x !== y ? "numbers" : "names";
  const points = rows.slice(0, mostPoints).map((row, index) => {
    const text = row[x] ?? "";
    const across = kind === "names" ? index : kind === "time" ? timeOf(text) : Number(text);
    const up = row[y];
    return { across, up: up === null || up === undefined ? null : Number(up), text };
  }).filter((point) => Number.isFinite(point.across));
  if (kind !== "names") points.sort((a, b) => a.across - b.across);
  return {
    kind,
    x: points.map((point) => point.across),
    y: points.map((point) => point.up),
    names: points.map((point) => point.text),
  };
}

/** Signs of the longest name as it is drawn: names beside each other must not overlap, so some are left out. */
function longestName(names: readonly string[]): number {
  return Math.max(0, ...names.map((name) => Math.min(mostSigns, name.length)));
}
