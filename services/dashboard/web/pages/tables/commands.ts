/** What the page offers in the palette and in the list of keys. */

import { useCommands } from "../../shell/commands.ts";
import { tablesTexts as texts } from "./texts.ts";

/** The keys are those of the grid: chosen in the palette, they lead to it. */
function toGrid(): void {
  document.querySelector<HTMLElement>(".tables-grid")?.focus();
}

export function useTableCommands({ insert, undo, viewAsAnon }: {
  insert: (() => void) | null;
  undo: () => void;
  viewAsAnon: () => void;
}): void {
  useCommands([
    ...(insert ? [{ id: "tables.insert", label: texts.keys.insert, run: insert }] : []),
    { id: "tables.anon", label: texts.keys.viewAsAnon, run: viewAsAnon },
    { id: "tables.edit", label: texts.keys.edit, keys: "Enter", run: toGrid },
    { id: "tables.open", label: texts.keys.open, keys: "Shift-Enter", run: toGrid },
    { id: "tables.select", label: texts.keys.select, keys: "Space", run: toGrid },
    { id: "tables.null", label: texts.keys.nullKey, keys: "Delete", run: toGrid },
    { id: "tables.range", label: texts.keys.range, keys: "Shift-arrows", run: toGrid },
    { id: "tables.fill", label: texts.keys.fillDown, keys: "Ctrl-D", run: toGrid },
    { id: "tables.copy", label: texts.keys.copy, keys: "Ctrl-C", run: toGrid },
    { id: "tables.paste", label: texts.keys.paste, keys: "Ctrl-V", run: toGrid },
    { id: "tables.undo", label: texts.keys.undo, keys: "Ctrl-Z", run: undo },
  ]);
}
