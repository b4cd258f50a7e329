/** Levels of roles by area, and what the three rights allow in each: read from the flags of the operations. */

import type { AccessLevel, AdministratorRole, Right } from "../../generated/operations.ts";
import { operationFlags } from "../../generated/operations.ts";

export const levels: readonly AccessLevel[] = ["none", "read", "change"];

/** Areas of one's own account, which no role limits. */
const ownAreas = ["account", "factors", "tokens", "connections", "docs"];

/** The areas of operations that a role limits, by name. Those with operations of owners alone are not among them. */
export const areas: readonly string[] = [
  ...new Set(
    Object.entries(operationFlags).filter(([, flags]) => !flags.startsWith("o")).map(([name]) => name.split(".")[0]!),
  ),
].filter((area) => !ownAreas.includes(area)).sort();

/** Return what one of the three rights allows in an area. */
export function levelOfRights(rights: Right, area: string): AccessLevel {
  const flags = Object.entries(operationFlags).filter(([name]) => name.startsWith(`${area}.`)).map(([, each]) => each);
  const may = (flag: string | undefined) =>
    rights === "owner" || flag === "r" || (rights === "developer" && flag === "d");
  if (flags.some((each) => each.includes("c") && may(each[1]) && may(each[0]))) return "change";
  return flags.some((each) => may(each[0])) ? "read" : "none";
}

/** Return what a role allows in an area. */
export function levelOfRole(role: Pick<AdministratorRole, "areas">, area: string): AccessLevel {
  return role.areas[area] ?? "none";
}
