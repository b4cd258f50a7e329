/** The filters of the page as they stand in the address, and the arguments of operations that they stand for. */

import { useMemo } from "react";
import { type Search, useSearch } from "../../address.tsx";
import type { LogLineView, LogSearchInput } from "../../generated/operations.ts";

const minuteMs = 60_000;
const ranges = { "15m": 15, "1h": 60, "6h": 360, "24h": 1_440, "7d": 10_080 } as const;

export const rangeNames = [...Object.keys(ranges), "custom"] as (keyof typeof ranges | "custom")[];
export type Range = typeof rangeNames[number];

/** Filters whose names are the same in the address and in the operations. */
const named = ["level", "area", "status", "user", "function", "process", "request_id", "text"] as const;
const statusPattern = /^([1-5]xx|[1-5][0-9]{2})$/;

export function rangeOf(search: Search): Range {
  if (search["since"] || search["until"]) return "custom";
  return rangeNames.find((name) => name === search["range"]) ?? "1h";
}

/** Return whether a status can be searched for. */
export function isStatus(status: string): boolean {
  return status === "" || statusPattern.test(status);
}

/** Return the filters of the address as arguments. `now` fixes what "the last hour" is until the list is searched again. */
export function argumentsOf(search: Search, now: number): LogSearchInput {
  const result: LogSearchInput = {};
  for (const name of named) {
    const value = search[name];
    if (value && (name !== "status" || isStatus(value))) result[name] = value;
  }
  const range = rangeOf(search);
  if (range !== "custom") return { ...result, since: new Date(now - ranges[range] * minuteMs).toISOString() };
  if (search["since"]) result.since = search["since"];
  if (search["until"]) result.until = search["until"];
  return result;
}

/** Return the arguments of the filters in the address, the same object while they do not change. */
export function useArguments(now: number): LogSearchInput {
  const [search] = useSearch();
  const text = JSON.stringify(argumentsOf(search, now));
  return useMemo(() => JSON.parse(text) as LogSearchInput, [text]);
}

/** Return whether any filter but the time is set. */
export function isFiltered(search: Search): boolean {
  return named.some((name) => search[name]);
}

/** The changes of the address that remove all filters. */
export const withoutFilters = Object.fromEntries(
  [...named, "since", "until", "range"].map((name) => [name, null]),
) as { [name: string]: null };

const ownPath = /^(GET|HEAD) \/_(\/|$)/;

/** Return whether a line is of a request of a dashboard or another program of the management interface that went well. */
export function isOwn(line: LogLineView): boolean {
  if (line.level !== "info" || (line.status ?? 0) >= 400) return false;
  return line.area === "management" || line.area === "dashboard" ||
    (line.kind === "RequestServed" && ownPath.test(line.text));
}
