/** What the window of the diagram shows: all of it, or one table; moved by keys. */

import { getViewportForBounds, useReactFlow, useStore } from "@xyflow/react";
import { type KeyboardEvent, useEffect, useMemo, useRef } from "react";
import { useCommands } from "../../../shell/commands.ts";
import { schemaTexts } from "../texts.ts";
import type { Places } from "./arrange.ts";
import { type Box, type Detail, heightOf } from "./boxes.ts";

const texts = schemaTexts.diagram;
/** The least zoom at which a diagram is opened: on a small screen names would not be legible if all of it were shown. */
const leastZoom: Readonly<Record<Detail, number>> = { auto: 0.3, names: 0.65, keys: 0.75, all: 0.75 };
/** The zoom at which columns are comfortable to read. */
const readingZoom = 0.9;
/** Free space around all of it; the buttons of the zoom stand at the left. */
export const padding = { top: "16px", right: "16px", bottom: "16px", left: "56px" } as const;
/** How far an arrow key moves the window, in px. */
const panStep = 80;
const animationMs = 250;

export interface View {
  /** Whether all of the diagram fits at this zoom. */
  isWhole: boolean;
  /** Fit once the boxes have their next places. */
  fitNext: () => void;
  /** Show a table, or one of its columns, in the middle, as soon as it is there. */
  reveal: (table: string, column: string | null) => void;
  /** Zoom or move by a key. Returns whether it was one of these. */
  onKey: (event: KeyboardEvent) => boolean;
}

/** Return what changes the window. At first it shows `table` and `column`, or everything. */
export function useView(
  boxes: readonly Box[],
  places: Places,
  detail: Detail,
  table: string | undefined,
  column: string | undefined,
): View {
  const flow = useReactFlow();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const isMeasured = width > 0 && height > 0;
  const wanted = useRef<{ table: string; column: string | null } | "all" | null>(
    table === undefined ? "all" : { table, column: column ?? null },
  );
  const shownDetail = useRef(detail);

  const bounds = useMemo(() => boundsOf(boxes, places), [boxes, places]);
  const whole = getViewportForBounds(bounds, width, height, 0, 1, padding).zoom;
  const isWhole = useStore(({ transform }) => transform[2] <= whole * 1.05);
  // Not by fitView of the package: it looks at the boxes that were drawn, and here those that come next count.
  const fit = (minZoom = 0.05) =>
    void flow.setViewport(getViewportForBounds(bounds, width, height, minZoom, 1, padding), { duration: duration() });
  const show = () => {
    const next = wanted.current;
    if (!isMeasured || next === null) return;
    if (next === "all") {
      wanted.current = null;
      fit(leastZoom[detail]);
      return;
    }
    const box = boxes.find(({ name }) => name === next.table);
    const place = places.get(next.table);
    if (!box || !place) return;
    wanted.current = null;
    const zoom = Math.min(Math.max(flow.getZoom(), readingZoom), 1.2);
    const y = next.column === null ? Math.min(box.height / 2, 200) : heightOf(box, detail, next.column);
    void flow.setCenter(place.x + box.width / 2, place.y + y, { zoom, duration: duration() });
  };
  useEffect(() => {
    if (shownDetail.current !== detail) {
      shownDetail.current = detail;
      wanted.current ??= table === undefined ? "all" : { table, column: column ?? null };
    }
    show();
  }, [isMeasured, boxes, places, detail]);
  useCommands([
    { id: "diagram.zoomIn", label: texts.commands.zoomIn, keys: "+", run: () => void flow.zoomIn() },
    { id: "diagram.zoomOut", label: texts.commands.zoomOut, keys: "-", run: () => void flow.zoomOut() },
    { id: "diagram.fit", label: texts.commands.fit, keys: "0", run: () => void flow.fitView({ padding, maxZoom: 1 }) },
  ]);
  return {
    isWhole,
    fitNext: () => {
      wanted.current = "all";
    },
    reveal: (name, found) => {
      wanted.current = { table: name, column: found };
      show();
    },
    onKey: (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return false;
      // Without a transition: a key pressed during one would begin at the zoom of that moment, and a step would be lost.
      if (event.key === "+" || event.key === "=") void flow.zoomIn();
      else if (event.key === "-") void flow.zoomOut();
      else if (event.key === "0") fit();
      else return isCanvas(event.target) && pan(event.key);
      return true;
    },
  };

  function pan(key: string): boolean {
    const step = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
    if (!step) return false;
    const { x, y, zoom } = flow.getViewport();
    void flow.setViewport({ x: x + step[0]! * panStep, y: y + step[1]! * panStep, zoom });
    return true;
  }
}

function boundsOf(boxes: readonly Box[], places: Places): { x: number; y: number; width: number; height: number } {
  const all = boxes.map((box) => ({ ...box, ...places.get(box.name)! }));
  const x = Math.min(...all.map((box) => box.x));
  const y = Math.min(...all.map((box) => box.y));
  const right = Math.max(...all.map((box) => box.x + box.width));
  return { x, y, width: right - x, height: Math.max(...all.map((box) => box.y + box.height)) - y };
}

/** Arrow keys move the window where no table has the focus: a selected table is moved by them. */
function isCanvas(target: EventTarget): boolean {
  return (target as HTMLElement).classList.contains("react-flow");
}

function duration(): number {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : animationMs;
}
