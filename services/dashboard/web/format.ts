/** Numbers, sizes, times and durations as people read them, in the language of the browser. */

import { texts } from "./texts.ts";

const numbers = new Intl.NumberFormat();
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const sizes = ["B", "KB", "MB", "GB", "TB", "PB"];
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

/** Bytes -> "1.5 MB", in steps of 1024. */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < sizes.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${sizes[unit]}`;
}

/** Milliseconds -> "0.8 ms", "12 ms", "1.2 s". */
export function formatMs(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** Seconds -> "40 s", "3 min", "2 h", "5 d". */
export function formatSpan(seconds: number): string {
  for (const [unit, size] of [["d", 86_400], ["h", 3_600], ["min", 60]] as const) {
    if (seconds >= 2 * size) return `${Math.round(seconds / size)} ${unit}`;
  }
  return `${Math.round(seconds)} s`;
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
