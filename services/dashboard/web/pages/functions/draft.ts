/** Changes of functions that are not deployed: kept in the browser, apart for each administrator and function. */

import { useMe, useValue } from "../../api/hooks.ts";
import { Value } from "../../api/signals.ts";
import type { DeployedSettings, FunctionFiles } from "../../generated/operations.ts";

/** A file by its whole path: its text, or other bytes as base64. */
export interface DraftFile {
  path: string;
  text: string | null;
  base64: string | null;
}

export interface Draft {
  /** The version that was changed; null for a new function or one of the project's folder. */
  base: number | null;
  files: readonly DraftFile[];
  settings: DeployedSettings;
}

const drafts = new Value<{ readonly [key: string]: Draft | null }>({});

function stored(key: string): Draft | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

/** Return the draft of a function, and what changes or (with null) forgets it. */
export function useDraft(name: string): readonly [Draft | null, (draft: Draft | null) => void] {
  const key = draftKey(useMe().administrator_id, name);
  const all = useValue(drafts);
  return [key in all ? all[key]! : stored(key), (draft) => storeDraft(key, draft)];
}

/** Return the name under which a draft is kept. */
export function draftKey(administrator: string | null, name: string): string {
  return `headwater:functions:${administrator}:${name}`;
}

/** Keep a draft, or forget it. */
export function storeDraft(key: string, draft: Draft | null): void {
  drafts.set({ ...drafts.get(), [key]: draft });
  try {
    if (draft) localStorage.setItem(key, JSON.stringify(draft));
    else localStorage.removeItem(key);
  } catch {
    // The storage is full or refused: the draft stays until the page is left.
  }
}

/** Return the files and settings of a version as a draft without changes. */
export function draftOf(source: FunctionFiles): Draft {
  return { base: source.version, settings: source.settings, files: source.files.map(fileOf) };
}

function fileOf({ path, text, base64 }: FunctionFiles["files"][number]): DraftFile {
  if (text !== null || base64 === null) return { path, text, base64 };
  try {
    const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
    return { path, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), base64: null };
  } catch {
    return { path, text, base64 };
  }
}
