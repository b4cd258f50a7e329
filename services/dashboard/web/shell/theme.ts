/** The theme: as the system has it, light or dark; remembered in this browser. */

import { Value } from "../api/signals.ts";

export type Theme = "system" | "light" | "dark";
export const themes: readonly Theme[] = ["system", "light", "dark"];
const key = "headwater.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function remembered(): Theme {
  const text = localStorage.getItem(key);
  return text === "light" || text === "dark" ? text : "system";
}

export const theme = new Value<Theme>(remembered());

function apply(): void {
  const chosen = theme.get();
  document.documentElement.dataset.theme = chosen === "system" ? (system.matches ? "dark" : "light") : chosen;
}

/** Put the theme in force, now and when that of the system changes. */
export function startTheme(): void {
  apply();
  system.addEventListener("change", apply);
}

/** Choose a theme. */
export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(key, chosen);
  theme.set(chosen);
  apply();
}
