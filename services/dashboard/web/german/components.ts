/** Parts of several pages in German. */

import type { AccessPreviewTexts } from "../components/AccessPreview.tsx";
import type { callerTexts } from "../components/callerTexts.ts";
import type { ChangeDialogTexts } from "../components/ChangeDialog.tsx";
import type { ColumnsFieldTexts } from "../components/ColumnsField.tsx";
import type { SchemaChooserTexts } from "../components/SchemaChooser.tsx";
import type { TypeFieldTexts } from "../components/TypeField.tsx";
import type { Translation } from "./translation.ts";

export const schemas: Translation<SchemaChooserTexts> = {
  schema: "Schema",
  platform: (count) => `${count} Schemas der Plattform zeigen`,
  ofPlatform: "der Plattform",
  unknown: (name) => `Es gibt kein Schema ${name}`,
  unknownText: "Es wurde umbenannt oder gelöscht, oder die Adresse ist vertippt.",
  toPublic: "Zum Schema public",
};

export const changes: Translation<ChangeDialogTexts> = {
  lead: "Dies läuft einmal als Rolle postgres, wird verzeichnet und wird eine Datei des Projektordners.",
  leadWithoutFile: (reason) =>
    `Dies läuft einmal als Rolle postgres und wird in der Datenbank verzeichnet. Es wird keine Datei geschrieben: ${reason}.`,
  sql: "SQL der Änderung",
  name: "Name der Migration",
  apply: "Anwenden und speichern",
  applyOnly: "Anwenden",
  applied: "Angewendet",
  done: (path) => `Angewendet und als ${path} gespeichert`,
  pending: "Migrationen des Projektordners",
  despite: "Trotzdem anwenden",
  back: "Zurück",
  noFile: (reason) => `Angewendet; es wurde keine Datei geschrieben: ${reason}`,
};

export const columnsField: Translation<ColumnsFieldTexts> = {
  none: "Keine gewählt",
  chosen: (names) => `In dieser Reihenfolge: ${names.join(", ")}`,
};

export const types: Translation<TypeFieldTexts> = { unknown: (name) => `Es gibt keinen Typ ${name}` };

export const access: Translation<AccessPreviewTexts> = {
  ask: "Wer gewinnt, wer verliert Zugriff?",
  trial: "Das SQL wird versucht und zurückgenommen; Tabellen, die es ändert, sind solange gesperrt.",
  loading: "Es wird verglichen, was Rollen und Nutzer dürfen…",
  result: "Unterschied des Zugriffs",
};

export const caller: Translation<typeof callerTexts> = {
  label: "Fragen als",
  labelOf: (name) => `Fragen als: ${name}`,
  anon: "anon (öffentlicher Schlüssel)",
  user: "ein Nutzer…",
  title: "Als Nutzer des Projekts fragen",
  text:
    "Anfragen tragen ein Token dieses Nutzers, das nach 15 Minuten endet. Es wird jetzt gemacht, und das Protokoll nennt Sie.",
  findUser: "Nutzer nach Adresse, Telefon oder Name suchen",
  noUser: "Kein Nutzer passt",
  answer: {
    title: "Antwort",
    took: (ms) => `in ${ms}`,
    headers: (count) => count === 1 ? "1 Kopfzeile" : `${count} Kopfzeilen`,
    empty: "kein Inhalt",
    cut: "Nur das erste Megabyte wird gezeigt.",
    body: "Inhalt der Antwort",
    offline: "Es kam keine Antwort: Die Plattform startet vielleicht neu, oder der Browser hat die Anfrage abgelehnt.",
  },
};
