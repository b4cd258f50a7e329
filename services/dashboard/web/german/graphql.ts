/** The page GraphQL in German. */
import type { graphqlTexts } from "../pages/graphql/texts.ts";
import type { Translation } from "./translation.ts";

export const graphql: Translation<typeof graphqlTexts> = {
  title: "GraphQL",
  query: "Abfrage",
  variables: "Variablen, als JSON",
  run: "Ausführen",
  operation: "Operation",
  parts: "Antwort, Dokumentation und Verlauf",
  answer: "Antwort",
  nothing: "Die Abfrage ausführen, um ihre Antwort zu sehen",
  nothingText: "Ctrl-Enter führt sie aus. Namen werden aus dem Schema ergänzt, das der Aufrufer sieht.",
  docs: "Dokumentation",
  history: "Verlauf",
  past: {
    none: "Noch keine Abfragen",
    noneText: "Abfragen, die Sie ausführen, stehen hier. Sie bleiben in diesem Browser.",
    clear: "Verlauf leeren",
    open: "Diese Abfrage öffnen",
  },
  variablesInvalid: "Die Variablen sind kein JSON-Objekt",
  schemaFailed: "Das Schema konnte nicht gelesen werden",
  types: {
    search: "Typen und Felder suchen",
    none: "Kein Typ oder Feld heißt so",
    all: "Alle Typen",
    fields: "Felder",
    inputs: "Eingabefelder",
    values: "Werte",
    implements: "Implementiert",
    members: "Typen davon",
    kinds: { root: "Wurzeln", object: "Objekte", input: "Eingaben", enum: "Enums", scalar: "Skalare", other: "Andere" },
    deprecated: "veraltet",
    gone: (name) => `Das Schema des Aufrufers hat keinen Typ ${name}`,
  },
  example:
    "# Jede Tabelle der freigegebenen Schemas hat eine Collection. Ctrl-Space ergänzt Namen.\n{\n  __typename\n}\n",
};
