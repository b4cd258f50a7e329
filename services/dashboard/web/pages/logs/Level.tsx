import { Badge } from "../../components/basics.tsx";
import { logsTexts as texts } from "./texts.ts";

const tones = { debug: "neutral", info: "neutral", warning: "warn", error: "bad" } as const;

/** The level of a line. Those that need attention stand out. */
export function Level({ level }: { level: string }) {
  const known = level as keyof typeof tones;
  const name = texts.levelNames[known] ?? level;
  if (known === "info" || known === "debug") return <span className="logs-level soft">{name}</span>;
  return <Badge tone={tones[known] ?? "neutral"}>{name}</Badge>;
}
