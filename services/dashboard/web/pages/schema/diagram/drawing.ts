/** What boxes and lines of the diagram read from the canvas around them. */

import type { Edge, Node } from "@xyflow/react";
import { createContext } from "react";
import type { Box, Detail, Level } from "./boxes.ts";

export type TableNode = Node<{ box: Box }, "table">;

/** A line of a foreign key. `from` and `to`: where it meets the boxes, from their tops, in px at zoom 1. */
export type KeyLine = Edge<{ from: number; to: number; isRelated: boolean }, "key">;

export interface Drawing {
  detail: Detail;
  level: Level;
  /** The zoom for which names alone in their boxes are sized. */
  nameZoom: number;
  /** The column that was found, as table and column. */
  marked: readonly [string, string] | null;
  /** Whether foreign keys are drawn by the mouse. */
  mayChange: boolean;
}

export const DrawingContext = createContext<Drawing>({
  detail: "auto",
  level: "all",
  nameZoom: 1,
  marked: null,
  mayChange: false,
});
