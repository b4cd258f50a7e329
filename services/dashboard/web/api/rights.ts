/** Which operations the administrator may run: views leave out, or disable, what would be refused. */

import { operationFlags } from "../generated/operations.ts";
import type { Me, Right } from "../generated/operations.ts";
import type { OperationName } from "./client.ts";

const order: readonly Right[] = ["reader", "developer", "owner"];

/** Return whether an administrator may run an operation; `toChange` for those that also read. */
export function may(me: Me, name: OperationName, toChange = true): boolean {
  const flags = operationFlags[name] ?? "oo";
  const needed = flags[toChange ? 1 : 0];
  const area = name.split(".")[0]!;
  // Of one's own account nothing is limited; levels of tables are decided by the platform.
  const level = me.role && !/^(account|factors|tokens|connections|docs)$/.test(area)
    ? ["read", "change"].indexOf(me.role.tables.length && area === "rows" ? "change" : me.role.areas[area] ?? "none")
    : 2;
  return Math.min(level, order.indexOf(me.rights)) >= order.findIndex((right) => right.startsWith(needed ?? "o"));
}
