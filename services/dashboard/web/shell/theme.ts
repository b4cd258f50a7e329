/** The theme: as the system has it, light or dark; remembered in this browser. */

import { Value } from "../api/signals.ts";

export type Theme = "system" | "light" | "dark";
export const themes: readonly Theme[] = ["system", "light", "dark"];
const key = "headwater.theme";

function remembered(): Theme {
  const text = localStorage.getItem(key);
  return text === "light" || text === "dark" ? text : "system";
}

export const theme = new Value<Theme>(remembered());

/** Put the theme in force. */
export function applyTheme(): void {
  const chosen = theme.get();
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

/** Choose a theme. */
export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(key, chosen);
  theme.set(chosen);
  applyTheme();
}
