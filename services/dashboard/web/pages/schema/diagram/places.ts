/** Where an administrator moved the tables of a diagram: kept in the browser by schema, as the columns of a grid are. */

import { useMemo } from "react";
import { useKept } from "../../../components/kept.ts";
import { arrange, type Link, type Place, type Places, separate } from "./arrange.ts";
import type { Box, Detail } from "./boxes.ts";

type Kept = { readonly [table: string]: readonly [number, number] };

export interface KeptPlaces {
  places: Places;
  /** Whether tables were moved. */
  isMoved: boolean;
  /** Keep where all tables stand: those that were not moved would else jump when a table is added. */
  keep: (places: Places) => void;
  /** Put `table` where it was dropped, or below what it was dropped on, and keep it. */
  drop: (table: string, places: Places) => void;
  /** Forget it. */
  reset: () => void;
}

/** Return the places of boxes, each level of detail with its own: the sizes differ. */
export function usePlaces(schema: string, detail: Detail, boxes: readonly Box[], links: readonly Link[]): KeptPlaces {
  const [kept, change] = useKept<Kept | null>(`diagram:${schema}:${detail}`, () => null);
  const arranged = useMemo(() => arrange(boxes, links), [boxes, links]);
  const places = useMemo(() => withKept(boxes, arranged, kept), [boxes, arranged, kept]);
  const keep = (next: Places) =>
    change(() => Object.fromEntries([...next].map(([name, { x, y }]) => [name, [Math.round(x), Math.round(y)]])));
  return {
    places,
    isMoved: kept !== null,
    keep,
    drop: (table, next) => keep(separate(boxes, next, new Set([...next.keys()].filter((name) => name !== table)))),
    reset: () => change(() => null),
  };
}

/** Return the arranged places with the kept ones in their stead; tables that are new go where they are free. */
function withKept(boxes: readonly Box[], arranged: Places, kept: Kept | null): Places {
  if (kept === null) return arranged;
  const names = new Set(boxes.map(({ name }) => name).filter((name) => isPlace(kept[name])));
  const merged = new Map([...arranged].map(([name, place]): [string, Place] => {
    const own = names.has(name) ? kept[name]! : null;
    return [name, own ? { x: own[0], y: own[1] } : place];
  }));
  return separate(boxes, merged, names);
}

/** Whether it is a place: the browser may keep what another version wrote. */
function isPlace(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every(Number.isFinite);
}
