/** The palette and the list of keys in German. */

import type { helpTexts } from "../shell/helpTexts.ts";
import type { paletteTexts } from "../shell/paletteTexts.ts";
import type { Translation } from "./translation.ts";

export const palette: Translation<typeof paletteTexts> = {
  title: "Suchen oder ausführen",
  placeholder: "Eine Seite, eine Tabelle, einen Nutzer finden, etwas tun…",
  none: "Nichts passt",
  pages: "Seiten",
  actions: "Aktionen",
  fn: "Funktion",
  user: "Nutzer",
  report: "Bericht",
  snippet: "Snippet",
  setting: "Einstellung",
  doc: "Dokumentation",
  hint: "↑ ↓ wählen   ↵ öffnen   Esc schließen",
};

export const help: Translation<typeof helpTexts> = {
  title: "Tastatur",
  everywhere: "Überall",
  here: "Auf dieser Seite",
  palette: "Suchen oder ausführen",
  keys: "Diese Liste",
  goTo: "Zu einer Seite nach ihrer Nummer in der Liste",
  dialogs: "Einen Dialog oder ein Menü schließen",
  rows: "Sich in einer Tabelle oder Liste bewegen",
  open: "Die Zeile öffnen",
  run: "Ausführen, in einem Editor",
  docs: "Das Handbuch ist im Ordner docs des Projekts; `headwater --help` nennt die Befehle.",
};
