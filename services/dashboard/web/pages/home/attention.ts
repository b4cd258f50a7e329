/** What of the platform's health needs attention, the most urgent first. Pure. */

import { formatAgo, formatBytes, formatPercent } from "../../format.ts";
import type { ContinuousBackup, PlatformHealth } from "../../generated/operations.ts";
import { homeTexts as texts } from "./texts.ts";

export interface Finding {
  tone: "bad" | "warn";
  text: string;
}

const fullDisk = 0.9;
const manyConnections = 0.8;
const largeLag = 64 * 1024 * 1024;
const oldBackupMs = 7 * 24 * 3_600_000;

/** Return the findings. `now` is in milliseconds since 1970; without `continuous` its state is not known yet. */
export function findingsOf(
  health: PlatformHealth,
  continuous: ContinuousBackup | undefined,
  now: number,
): readonly Finding[] {
  const found = [
    ...poolFindings(health),
    ...placeFindings(health),
    ...continuous === undefined
      ? []
      : continuous.state === "off"
      ? backupFindings(health, now)
      : continuousFindings(continuous),
  ];
  return [...found.filter(({ tone }) => tone === "bad"), ...found.filter(({ tone }) => tone === "warn")];
}

function poolFindings({ pools, broker }: PlatformHealth): Finding[] {
  return [
    ...broker.is_up ? [] : [{ tone: "bad", text: texts.findings.brokerDown } as const],
    ...pools.filter(({ state }) => state === "down")
      .map(({ name }) => ({ tone: "bad", text: texts.findings.poolDown(name) }) as const),
    ...pools.filter(({ errors }) => errors > 0)
      .map(({ name, errors }) => ({ tone: "warn", text: texts.findings.errors(name, errors) }) as const),
    ...broker.streams.filter(({ stores }) => stores === false)
      .map(({ name }) => ({ tone: "bad", text: texts.findings.stream(name) }) as const),
  ];
}

function placeFindings({ disk, database, slot }: PlatformHealth): Finding[] {
  const findings: Finding[] = [];
  const used = disk === null || disk.total_bytes === 0 ? 0 : 1 - disk.free_bytes / disk.total_bytes;
  if (used > fullDisk) findings.push({ tone: "bad", text: texts.findings.disk(formatPercent(used, 0)) });
  const connections = database.connections / Math.max(1, database.max_connections);
  if (connections > manyConnections) {
    findings.push({ tone: "warn", text: texts.findings.connections(formatPercent(connections, 0)) });
  }
  if (slot !== null && !slot.is_active) findings.push({ tone: "bad", text: texts.findings.slotInactive });
  else if (slot !== null && slot.lag_bytes > largeLag) {
    findings.push({ tone: "warn", text: texts.findings.slotLag(formatBytes(slot.lag_bytes)) });
  }
  return findings;
}

/** Continuous backup stands for backups into a folder. */
function continuousFindings({ state, fault }: ContinuousBackup): Finding[] {
  if (state === "failing") return [{ tone: "bad", text: texts.findings.continuousFails(fault) }];
  if (state === "silent") return [{ tone: "bad", text: texts.findings.continuousSilent }];
  return state === "behind" ? [{ tone: "warn", text: texts.findings.continuousBehind }] : [];
}

function backupFindings({ last_backup }: PlatformHealth, now: number): Finding[] {
  if (last_backup === null) return [{ tone: "warn", text: texts.findings.noBackup }];
  const isOld = now - new Date(last_backup.made_at).getTime() > oldBackupMs;
  return isOld ? [{ tone: "warn", text: texts.findings.oldBackup(formatAgo(last_backup.made_at, now)) }] : [];
}
