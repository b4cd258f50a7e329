/**
 * Where the boxes of the diagram stand. Pure. Lengths are in px at zoom 1.
 *
 * Tables that refer to one another, directly or through others, form a group. dagre gives each table of a group its
 * rank (a table stands left of those that it refers to) and the order within the rank that crosses few lines. Many
 * tables have the same rank, as all that refer to `users`: one column of them would be far higher than a screen. So a
 * rank is cut into columns of about equal height, low neighbours become one column, and groups are put beside and below one another, until the whole has
 * about the shape of a screen.
 */

import { Graph, layout } from "@dagrejs/dagre";
import type { Box } from "./boxes.ts";

export interface Place {
  x: number;
  y: number;
}

export type Places = ReadonlyMap<string, Place>;

/** A table and one that it refers to. */
export type Link = readonly [string, string];

/** A box, and how far down dagre put it. */
interface Ranked {
  box: Box;
  y: number;
}

interface Block {
  places: Map<string, Place>;
  width: number;
  height: number;
}

/** Width of the drawing by its height. */
const shape = 1.9;
/** Columns are never full to the last px: without some room each would end early, and there would be more of them. */
const slack = 1.1;
const gapX = 64;
const gapY = 28;

/** Return where each box stands; no two overlap. */
export function arrange(boxes: readonly Box[], links: readonly Link[]): Places {
  const area = boxes.reduce((sum, { width, height }) => sum + (width + gapX) * (height + gapY), 0);
  const tallest = Math.max(0, ...boxes.map(({ height }) => height));
  const mostHeight = Math.max(tallest, Math.sqrt(area / shape) * slack);
  return pack(groupsOf(boxes, links).map((group) => blockOf(group, links, mostHeight)), mostHeight * shape);
}

/** Return the tables that refer to one another, largest groups first. */
function groupsOf(boxes: readonly Box[], links: readonly Link[]): Box[][] {
  const leaders = new Map(boxes.map(({ name }) => [name, name]));
  const leaderOf = (name: string): string => {
    let leader = name;
    while (leaders.get(leader) !== leader) leader = leaders.get(leader)!;
    leaders.set(name, leader);
    return leader;
  };
  for (const [from, to] of links) leaders.set(leaderOf(from), leaderOf(to));
  const groups = new Map<string, Box[]>();
  for (const box of boxes) {
    const leader = leaderOf(box.name);
    groups.set(leader, [...groups.get(leader) ?? [], box]);
  }
  return [...groups.values()].sort((a, b) => b.length - a.length);
}

function blockOf(group: readonly Box[], links: readonly Link[], mostHeight: number): Block {
  const columns = joined(ranksOf(group, links).flatMap((rank) => cut(rank, mostHeight)), mostHeight)
    .map((column) => column.map(({ box }) => box));
  const heights = columns.map((column) => column.reduce((sum, { height }) => sum + height + gapY, -gapY));
  const height = Math.max(...heights);
  const places = new Map<string, Place>();
  let x = 0;
  columns.forEach((column, index) => {
    let y = (height - heights[index]!) / 2;
    for (const box of column) {
      places.set(box.name, { x, y });
      y += box.height + gapY;
    }
    x += Math.max(...column.map(({ width }) => width)) + gapX;
  });
  return { places, width: x - gapX, height };
}

/** Return the tables of a group by rank, in their order from top to bottom. */
function ranksOf(group: readonly Box[], links: readonly Link[]): Ranked[][] {
  if (group.length === 1) return [group.map((box) => ({ box, y: 0 }))];
  const graph = new Graph({ directed: true });
  graph.setGraph({ rankdir: "LR", nodesep: gapY, ranksep: gapX });
  graph.setDefaultEdgeLabel(() => ({}));
  // Numbers stand for the tables: the package keeps nodes as members of objects, and a table may be called __proto__.
  const ids = new Map(group.map(({ name }, index) => [name, `${index}`]));
  for (const { name, width, height } of group) graph.setNode(ids.get(name)!, { width, height });
  for (const [from, to] of links) {
    if (from !== to && ids.has(from)) graph.setEdge(ids.get(from)!, ids.get(to)!);
  }
  layout(graph);
  const ranks = new Map<number, Ranked[]>();
  for (const box of group) {
    const { x, y } = graph.node(ids.get(box.name)!) as Place;
    ranks.set(x, [...ranks.get(x) ?? [], { box, y }]);
  }
  return [...ranks.entries()]
    .sort(([a], [b]) => a - b)
    .map(([, rank]) => rank.sort((a, b) => a.y - b.y));
}

/** Return a rank as columns of about equal height, none much higher than `mostHeight`. */
function cut(rank: readonly Ranked[], mostHeight: number): Ranked[][] {
  const total = heightOf(rank);
  const each = total / Math.ceil(total / (mostHeight + gapY));
  const columns: Ranked[][] = [];
  let top = 0;
  for (const ranked of rank) {
    const { height } = ranked.box;
    // By its middle: a box goes to the column that has more of it.
    const index = Math.floor((top + height / 2) / each);
    (columns[index] ??= []).push(ranked);
    top += height + gapY;
  }
  return columns.filter((column) => column !== undefined);
}

/** Return columns of which neighbours became one where they fit: a long chain would else be a line of half-empty columns. */
function joined(columns: readonly Ranked[][], mostHeight: number): Ranked[][] {
  const result: Ranked[][] = [];
  for (const column of columns) {
    const last = result.at(-1);
    if (last && heightOf(last) + heightOf(column) - gapY <= mostHeight) {
      result[result.length - 1] = [...last, ...column].sort((a, b) => a.y - b.y);
    } else {
      result.push(column);
    }
  }
  return result;
}

/** Return the height of boxes below one another, each with the gap below it. */
function heightOf(column: readonly Ranked[]): number {
  return column.reduce((sum, { box }) => sum + box.height + gapY, 0);
}

/** Return the places of all blocks: in rows of `mostWidth`, low ones below one another beside a high one. */
function pack(blocks: readonly Block[], mostWidth: number): Places {
  const places = new Map<string, Place>();
  const sorted = [...blocks].sort((a, b) => b.height - a.height);
  const widest = Math.max(mostWidth, ...blocks.map(({ width }) => width));
  const row = { top: 0, height: 0 };
  const column = { left: 0, width: 0, bottom: 0 };
  for (const block of sorted) {
    const fitsBelow = block.width <= column.width && column.bottom + block.height <= row.top + row.height;
    if (!fitsBelow) {
      const left = column.width === 0 ? 0 : column.left + column.width + gapX;
      if (left + block.width <= widest) {
        Object.assign(column, { left, width: block.width, bottom: row.top });
      } else {
        row.top += row.height + gapY * 2;
        row.height = 0;
        Object.assign(column, { left: 0, width: block.width, bottom: row.top });
      }
    }
    for (const [name, { x, y }] of block.places) places.set(name, { x: column.left + x, y: column.bottom + y });
    column.bottom += block.height + gapY;
    row.height = Math.max(row.height, column.bottom - gapY - row.top);
  }
  return places;
}

/** Return places in which the boxes named first stay, and each of the others moves down until it overlaps none before it. */
export function separate(boxes: readonly Box[], places: Places, first: ReadonlySet<string>): Places {
  const settled = new Map<string, Place>();
  const sizes = new Map(boxes.map((box) => [box.name, box]));
  const rows = boxes.filter(({ name }) => places.has(name)).sort((a, b) =>
    Number(first.has(b.name)) - Number(first.has(a.name)) || places.get(a.name)!.y - places.get(b.name)!.y
  );
  for (const box of rows) {
    const place = { ...places.get(box.name)! };
    const below = () => {
      for (const [name, other] of settled) {
        const { width, height } = sizes.get(name)!;
        if (
          place.x < other.x + width && other.x < place.x + box.width &&
          place.y < other.y + height && other.y < place.y + box.height
        ) return other.y + height + gapY;
      }
      return null;
    };
    if (!first.has(box.name)) { for (let y = below(); y !== null; y = below()) place.y = y; }
    settled.set(box.name, place);
  }
  return settled;
}
