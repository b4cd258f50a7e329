/** What the palette and the list of keys offer beside the pages: a page adds its own while it is shown. */

import { useEffect } from "react";
import { Value } from "../api/signals.ts";

export interface Command {
  id: string;
  label: string;
  /** As people press it: "Ctrl-Enter". Shown only: the component binds it itself. */
  keys?: string;
  run: () => void;
}

export const pageCommands = new Value<readonly Command[]>([]);

/** Offer commands in the palette and in the list of keys while the component is shown. */
export function useCommands(commands: readonly Command[]): void {
  const key = commands.map((command) => command.id).join(" ");
  useEffect(() => {
    pageCommands.set([...pageCommands.get(), ...commands]);
    return () => pageCommands.set(pageCommands.get().filter((command) => !commands.includes(command)));
  }, [key]);
}
