import { BaseEdge, type EdgeProps, getBezierPath, Position, useInternalNode } from "@xyflow/react";
import { memo } from "react";
import type { KeyLine as KeyLineEdge } from "./drawing.ts";

/** How far boxes are apart, in px at zoom 1, for a line to run between them rather than around. */
const between = 24;

/** A line from the column of a foreign key to the column that it refers to, at the sides of the boxes that face each other. */
export const KeyLine = memo(function KeyLine({ id, source, target, data, markerEnd }: EdgeProps<KeyLineEdge>) {
  const from = useInternalNode(source);
  const to = useInternalNode(target);
  if (!from || !to || !data) return null;
  const left = from.internals.positionAbsolute;
  const right = to.internals.positionAbsolute;
  const fromWidth = from.width ?? 0;
  const toWidth = to.width ?? 0;
  const isAfter = right.x >= left.x + fromWidth + between;
  const isBefore = right.x + toWidth + between <= left.x;
  const fromY = left.y + data.from;
  const toY = right.y + data.to;
  const path = isAfter || isBefore
    ? getBezierPath({
      sourceX: isBefore ? left.x : left.x + fromWidth,
      sourceY: fromY,
      sourcePosition: isBefore ? Position.Left : Position.Right,
      targetX: isAfter ? right.x : right.x + toWidth,
      targetY: toY,
      targetPosition: isAfter ? Position.Left : Position.Right,
    })[0]
    : around(left.x + fromWidth, fromY, right.x + toWidth, toY);
  return (
    <BaseEdge
      id={id}
      path={path}
      interactionWidth={0}
      {...(data.isRelated ? { className: "is-related" } : {})}
      {...(markerEnd ? { markerEnd } : {})}
    />
  );
});

/** Return a path between points on right sides: of boxes above one another, or of a table that refers to itself. */
function around(fromX: number, fromY: number, toX: number, toY: number): string {
  const outside = Math.max(fromX, toX) + 28 + Math.min(24, Math.abs(toY - fromY) / 12);
  return `M${fromX},${fromY} C${outside},${fromY} ${outside},${toY} ${toX},${toY}`;
}
