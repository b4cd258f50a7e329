/** Numbers, sizes, times and durations as people read them, in the language of the browser. */

import { texts } from "./texts.ts";

const numbers = new Intl.NumberFormat();
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const sizes = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte", "petabyte"] as const;
const spans: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** 1234567 -> "1,234,567". */
export function formatNumber(value: number): string {
  return numbers.format(value);
}

/** 0.123 -> "12.3%". `digits`: the most behind the point. */
export function formatPercent(share: number, digits = 1): string {
  return formatterOf({ style: "percent", maximumFractionDigits: digits }).format(share);
}

/** Bytes -> "1.5 MB", in steps of 1024. */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < sizes.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? formatUnit(value, "byte", 0, "long") : formatUnit(value, sizes[unit]!, value < 10 ? 1 : 0);
}

/** Milliseconds -> "40 μs", "0.8 ms", "12 ms", "1.2 sec". Below a tenth of one they are microseconds: many statements take so little. */
export function formatMs(ms: number): string {
  if (ms > 0 && ms < 0.1) return formatUnit(ms * 1_000, "microsecond", 0);
  return ms < 1_000 ? formatUnit(ms, "millisecond", ms < 10 ? 1 : 0) : formatUnit(ms / 1_000, "second", 1);
}

/** Seconds -> "40 sec", "3 min", "2 hr", "5 days". */
export function formatSpan(seconds: number): string {
  for (const [unit, size] of [["day", 86_400], ["hour", 3_600], ["minute", 60]] as const) {
    if (seconds >= 2 * size) return formatUnit(seconds / size, unit, 0);
  }
  return formatUnit(seconds, "second", 0);
}

/** A value with its unit, with as many digits behind the point. */
function formatUnit(value: number, unit: string, digits: number, unitDisplay: "short" | "long" = "short"): string {
  return formatterOf({
    style: "unit",
    unit,
    unitDisplay,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(value);
}

const formatters = new Map<string, Intl.NumberFormat>();

/** A formatter costs more to make than to use, and a table asks for thousands of figures. */
function formatterOf(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify(options);
  let formatter = formatters.get(key);
  if (formatter === undefined) formatters.set(key, formatter = new Intl.NumberFormat(undefined, options));
  return formatter;
}

/** A time (ISO 8601, or seconds since 1970) -> "12 Mar 2026, 14:05:09". */
export function formatTime(time: string | number): string {
  const date = dateOf(time);
  return Number.isNaN(date.getTime()) ? String(time) : dates.format(date);
}

/** A time -> "3 min. ago"; null -> "never". Use `Time` of components/Time.tsx, which also shows the exact time. */
export function formatAgo(time: string | number | null, now = Date.now()): string {
  if (time === null) return texts.time.never;
  const seconds = (dateOf(time).getTime() - now) / 1_000;
  if (Math.abs(seconds) < 45) return texts.time.now;
  for (const [unit, size] of spans) {
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  }
  return relative.format(Math.round(seconds), "second");
}

function dateOf(time: string | number): Date {
  return typeof time === "number" ? new Date(time * 1_000) : new Date(time);
}
