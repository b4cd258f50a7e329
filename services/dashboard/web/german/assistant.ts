/** The page Assistant in German. */
import type { assistantTexts } from "../pages/assistant/texts.ts";
import type { Translation } from "./translation.ts";

export const assistant: Translation<typeof assistantTexts> = {
  title: "Assistent",
  off: "Der Assistent ist ausgeschaltet",
  offText:
    "Er ist ein Sprachmodell nach eigener Wahl: jeder Dienst mit der Schnittstelle der Chat Completions von OpenAI, auch einer auf dem eigenen Rechner. Er liest das Schema, schreibt SQL, Policies und Funktionen und erklärt Fehler. Von selbst ändert er nichts und führt nichts aus.",
  offOthers: "Ein Eigentümer kann ihn einschalten.",
  settings: "Einstellungen",
  sent: (host, model) => `Die Fragen und was das Modell nachschlägt, gehen an ${model} bei ${host}.`,
  noRows: "Er sieht das Schema und keine Zeilen.",
  withRows: "Er darf Logzeilen sehen, und Zeilen von SQL, dessen Ausführung erlaubt wird.",
  kept: "Das Gespräch bleibt in diesem Browser.",
  conversation: "Gespräch",
  empty: "Nach einer Abfrage, Policy oder Funktion fragen",
  emptyText:
    "Zum Beispiel: Nutzer ohne Bestellung in diesem Monat; eine Policy, nach der die Mitglieder eines Teams dessen Notizen lesen.",
  question: "Frage",
  questionHint: "Strg-Enter sendet.",
  send: "Senden",
  stop: "Anhalten",
  clear: "Neues Gespräch",
  clearTitle: "Neues Gespräch beginnen",
  clearText: "Das jetzige wird aus diesem Browser entfernt.",
  you: "Sie",
  model: "Assistent",
  thinking: "Warten auf das Modell",
  openSql: "In SQL öffnen",
  code: (language) => language ? `Code: ${language}` : "Code",
  tool: (name, outcome) => {
    const ends: { readonly [outcome: string]: string } = {
      done: "gelesen",
      failed: "fehlgeschlagen",
      declined: "nicht ausgeführt",
      refused: "nicht vorhanden, also nicht aufgerufen",
    };
    return `${name}: ${ends[outcome] ?? outcome}`;
  },
  asks: "Das Modell will dies ausführen und das Ergebnis lesen",
  asksText: "Es läuft nur lesend, als Rolle der Leser. Die Zeilen gehen an den Dienst des Modells.",
  run: "Ausführen und Zeilen senden",
  decline: "Nicht ausführen",
  askAbout: "Assistenten fragen",
  aboutError: (sql, message) =>
    `Dieses SQL ist fehlgeschlagen. Erkläre, warum, und korrigiere es.\n\n\`\`\`sql\n${sql}\n\`\`\`\n\nFehler: ${message}`,
};
