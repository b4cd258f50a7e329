/** Which operations the administrator may run: views leave out, or disable, what would be refused. */

import { operationFlags } from "../generated/operations.ts";
import type { Me, Right } from "../generated/operations.ts";
import type { OperationName } from "./client.ts";

const order: readonly Right[] = ["reader", "developer", "owner"];

/** An area of the operations: `rows` of `rows.list`. */
export type Area = OperationName extends infer Name ? Name extends `${infer Of}.${string}` ? Of : never : never;

/** Return whether an administrator may run an operation; `toChange` for those that also read. */
export function may(me: Me, name: OperationName, toChange = true): boolean {
  const flags = operationFlags[name] ?? "oo";
  const needed = flags[toChange ? 1 : 0];
  return Math.min(levelOf(me, name.split(".")[0]!), order.indexOf(me.rights)) >=
    order.findIndex((right) => right.startsWith(needed ?? "o"));
}

/** Return whether the administrator's role leaves something open in an area. */
export function reaches(me: Me, area: Area): boolean {
  return levelOf(me, area) >= 0;
}

/** Return whether rights include others. */
export function includes(rights: Right, others: Right): boolean {
  return order.indexOf(rights) >= order.indexOf(others);
}

/** Return what a role leaves in an area as a place in `order`, -1 for nothing. Levels of tables are decided by the platform. */
function levelOf({ role }: Me, area: string): number {
  // Of one's own account nothing is limited.
  if (!role || /^(account|factors|tokens|connections|docs)$/.test(area)) return 2;
  return ["read", "change"].indexOf(role.tables.length && area === "rows" ? "change" : role.areas[area] ?? "none");
}
