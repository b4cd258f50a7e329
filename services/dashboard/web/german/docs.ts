/** The page Docs in German. */
import type { docsTexts } from "../pages/docs/texts.ts";
import type { Translation } from "./translation.ts";

export const docs: Translation<typeof docsTexts> = {
  title: "Dokumentation",
  lead: "Von dieser Version. Ctrl K findet Abschnitte nach ihren Wörtern.",
  find: "In der Dokumentation suchen",
  none: "Kein Abschnitt hat diese Wörter",
  all: "Dokumentation",
  code: "Beispiel",
  table: "Tabelle",
};
