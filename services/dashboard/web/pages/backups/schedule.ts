/** The schedule of backups in words, and the times that people choose most, as cron. Pure. */

import { backupsTexts } from "./texts.ts";

const texts = backupsTexts.schedule;
const dayNames: { readonly [day: string]: string } = texts.days;

export type Rhythm = "never" | "hourly" | "daily" | "weekly" | "other";

export interface Plan {
  rhythm: Rhythm;
  /** "03:00" */
  time: string;
  /** 0 is Sunday. */
  day: string;
  cron: string;
}

/** The names of the days, 0 is Sunday. */
export const days = Object.entries(dayNames).map(([id, label]) => ({ id, label }));

/** Read a schedule: one of the common rhythms, or another one. */
export function planOf(cron: string): Plan {
  const plan: Plan = { rhythm: "other", time: "03:00", day: "0", cron };
  if (cron.trim() === "") return { ...plan, rhythm: "never" };
  const match = /^(\d{1,2}) (\d{1,2}|\*) \* \* ([0-6]|\*)$/.exec(cron.trim());
  if (!match) return plan;
  const [, minute, hour, day] = match as unknown as [string, string, string, string];
  if (hour === "*") return day === "*" && minute === "0" ? { ...plan, rhythm: "hourly" } : plan;
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (cronOf({ ...plan, rhythm: "daily", time }) === null) return plan;
  return day === "*" ? { ...plan, rhythm: "daily", time } : { ...plan, rhythm: "weekly", time, day };
}

/** Write a plan as cron; null if its time is none. */
export function cronOf({ rhythm, time, day, cron }: Plan): string | null {
  if (rhythm === "never") return "";
  if (rhythm === "hourly") return "0 * * * *";
  if (rhythm === "other") return cron.trim() || null;
  const match = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(time.trim());
  return match ? `${Number(match[2])} ${Number(match[1])} * * ${rhythm === "weekly" ? day : "*"}` : null;
}

/** Say when a schedule is due, or show its fields. */
export function wordsOf(schedule: string): string {
  const { rhythm, time, day } = planOf(schedule);
  if (rhythm === "hourly") return texts.words.hourly;
  if (rhythm === "daily") return texts.words.daily(time);
  return rhythm === "weekly" ? texts.words.weekly(dayNames[day]!, time) : schedule;
}
