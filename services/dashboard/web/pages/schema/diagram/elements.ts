/** What the package draws: a node for each table, and an edge for each foreign key within the schema. Pure. */

import { MarkerType } from "@xyflow/react";
import type { Diagram } from "../../../generated/operations.ts";
import { schemaTexts } from "../texts.ts";
import type { Link, Places } from "./arrange.ts";
import { type Box, type Detail, heightOf } from "./boxes.ts";
import type { KeyLine, TableNode } from "./drawing.ts";

const texts = schemaTexts.diagram;

/** Return which tables of the schema refer to which. */
export function linksOf(diagram: Diagram): Link[] {
  const names = new Set(diagram.tables.map(({ name }) => name));
  return diagram.foreign_keys
    .filter(({ target }) => target.schema === diagram.schema && names.has(target.table))
    .map(({ table, target }): Link => [table, target.table]);
}

/** Return the nodes of boxes, at their places. */
export function nodesOf(boxes: readonly Box[], places: Places): TableNode[] {
  return boxes.map((box) => ({
    id: box.name,
    type: "table",
    position: places.get(box.name)!,
    width: box.width,
    height: box.height,
    ariaLabel: texts.table(box.name, box.columns.length, [...new Set(box.keys.flatMap(({ refersTo }) => refersTo))]),
    data: { box },
  }));
}

/** Return the edges of foreign keys; those of the selected table are marked. */
export function edgesOf(
  diagram: Diagram,
  boxes: readonly Box[],
  detail: Detail,
  selected: string | undefined,
): KeyLine[] {
  const byName = new Map(boxes.map((box) => [box.name, box]));
  const lines = diagram.foreign_keys.flatMap((key): KeyLine[] => {
    const from = byName.get(key.table);
    const to = key.target.schema === diagram.schema ? byName.get(key.target.table) : undefined;
    if (!from || !to) return [];
    const isRelated = selected === from.name || selected === to.name;
    const color = isRelated ? { color: "var(--accent)" } : {};
    return [{
      id: `${key.table} ${key.name}`,
      type: "key",
      source: from.name,
      sourceHandle: "out",
      target: to.name,
      targetHandle: "in",
      markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16, ...color },
      ariaLabel: `${key.table}: ${texts.refers(key.columns.join(", "), key.target.table)}`,
      data: {
        from: heightOf(from, detail, key.columns[0]),
        to: heightOf(to, detail, key.target.columns[0]),
        isRelated,
      },
    }];
  });
  // Later ones are drawn above earlier ones: those of the selected table are seen from end to end.
  return lines.sort((a, b) => Number(a.data?.isRelated) - Number(b.data?.isRelated));
}

/** Return the column of a handle, whose id is `from <column>` or `to <column>`. */
export function columnOf(handle: string | null): string {
  return handle?.slice(handle.indexOf(" ") + 1) ?? "";
}
