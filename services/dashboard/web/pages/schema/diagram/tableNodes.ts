/** The tables of the drawing as the package changes them: moved by mouse or keys, selected. */

import { type NodeChange, useNodesState } from "@xyflow/react";
import { useEffect, useMemo } from "react";
import type { Places } from "./arrange.ts";
import type { Box } from "./boxes.ts";
import type { TableNode } from "./drawing.ts";
import { nodesOf } from "./elements.ts";
import type { KeptPlaces } from "./places.ts";

export interface TableNodes {
  nodes: TableNode[];
  onNodesChange: (changes: NodeChange<TableNode>[]) => void;
  onNodeDragStop: (event: unknown, node: TableNode) => void;
}

/** Return the nodes, and what follows their changes. `onSelect` has the name of the selected table, null without one. */
export function useTableNodes(
  boxes: readonly Box[],
  kept: KeptPlaces,
  selected: string | undefined,
  onSelect: (table: string | null) => void,
): TableNodes {
  const [nodes, setNodes, applyChanges] = useNodesState<TableNode>([]);
  useEffect(() => setNodes(nodesOf(boxes, kept.places)), [boxes, kept.places]);
  const shown = useMemo(() => nodes.map((node) => withSelection(node, selected)), [nodes, selected]);
  return {
    nodes: shown,
    onNodesChange: (changes) => {
      // What is selected is not kept here: it stands in the address.
      const selections = changes.filter((change) => change.type === "select");
      const chosen = selections.find((change) => change.selected);
      if (chosen) onSelect(chosen.id);
      else if (selections.some(({ id }) => id === selected)) onSelect(null);
      applyChanges(changes.filter((change) => change.type !== "select"));
      // Moves by arrow keys: a table moves over others freely, as it must get past them. Those of the mouse end below.
      const places = placesOf(nodes);
      let isMoved = false;
      for (const change of changes) {
        if (change.type !== "position" || change.dragging !== false || !change.position) continue;
        places.set(change.id, change.position);
        isMoved ||= isElsewhere(kept.places, change.id, change.position);
      }
      if (isMoved) kept.keep(places);
    },
    onNodeDragStop: (_, node) => {
      if (!isElsewhere(kept.places, node.id, node.position)) return;
      kept.drop(node.id, placesOf(nodes).set(node.id, node.position));
    },
  };
}

function withSelection(node: TableNode, selected: string | undefined): TableNode {
  const isSelected = node.id === selected;
  return (node.selected ?? false) === isSelected ? node : { ...node, selected: isSelected };
}

function placesOf(nodes: readonly TableNode[]): Map<string, { x: number; y: number }> {
  return new Map(nodes.map(({ id, position }) => [id, position]));
}

function isElsewhere(places: Places, table: string, { x, y }: { x: number; y: number }): boolean {
  const place = places.get(table);
  return place === undefined || Math.abs(place.x - x) >= 1 || Math.abs(place.y - y) >= 1;
}
