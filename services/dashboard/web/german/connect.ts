/** The page Connect in German. */
import type { connectTexts } from "../pages/connect/texts.ts";
import type { Translation } from "./translation.ts";

export const connect: Translation<typeof connectTexts> = {
  title: "Ein Programm verbinden",
  lead: (client) => `${client} bittet darum, auf dieser Plattform an Ihrer Stelle zu arbeiten.`,
  unproven:
    "Jeder kann einem Programm jeden Namen geben. Fahren Sie nur fort, wenn Sie dies gerade selbst begonnen haben, in einem Programm, dem Sie vertrauen.",
  provenSite: (site) =>
    `${site} beschreibt dieses Programm; sein Name ist, wie es sich selbst nennt. Fahren Sie nur fort, wenn Sie dies gerade selbst begonnen haben und ${site} vertrauen.`,
  client: "Nennt sich",
  site: "Beschrieben von",
  target: "Die Antwort geht an",
  onThisMachine: "ein Programm auf dieser Maschine",
  rights: "Rechte",
  writes: "Darf ändern",
  writesHint: "Ohne dies liest das Programm nur: Zeilen, Log-Zeilen, Funktionen.",
  allow: "Erlauben",
  deny: "Ablehnen",
  done: "Zurück zum Programm",
  doneText:
    "Diese Seite kann geschlossen werden. „Einstellungen“, „Tokens“ zeigt das Programm und beendet, was es darf.",
  incomplete: "Diese Adresse ist unvollständig: Beginnen Sie im Programm noch einmal.",
};
