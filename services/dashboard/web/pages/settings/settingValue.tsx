/** A setting's value and its source, in a line. */

import type { ReactNode } from "react";
import { Badge } from "../../components/basics.tsx";
import type { SettingEntry } from "../../generated/operations.ts";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.values;
const tones = { database: "accent", environment: "warn", file: "neutral" } as const;

/** A mark of where a value comes from. */
export function SourceBadge({ source }: { source: string }) {
  if (source === "default") return <span className="faint">{texts.sources["default"]}</span>;
  return <Badge tone={tones[source as keyof typeof tones] ?? "neutral"}>{texts.sources[source] ?? source}</Badge>;
}

/** A value in a line; secrets are not shown. */
export function valueOf(entry: Pick<SettingEntry, "value" | "is_secret" | "is_set">): ReactNode {
  if (entry.is_secret) {
    return <span className="faint">{entry.is_set && entry.value !== "" ? texts.secretSet : texts.notSet}</span>;
  }
  if (entry.value === "" || entry.value === null) return <span className="faint">{texts.empty}</span>;
  return <code>{typeof entry.value === "string" ? entry.value : JSON.stringify(entry.value)}</code>;
}
