/** The page Streams in German. */
import type { streamsTexts } from "../pages/streams/texts.ts";
import type { Translation } from "./translation.ts";

export const streams: Translation<typeof streamsTexts> = {
  title: "Streams",
  lead: "Tabellen, die config.toml mit allen ihren Änderungen in andere Systeme kopiert.",
  none: "Noch keine Streams",
  noneText: "[streams.NAME] in config.toml kopiert Tabellen in Iceberg, NATS, Kafka oder ein anderes Postgres.",
  table: "Tabelle",
  target: "Ziel",
  state: "Zustand",
  states: {
    waiting: "wartet",
    snapshot: "kopiert alle Zeilen",
    following: "folgt",
    away: "Ziel ist weg",
    rejected: "nicht möglich",
    paused: "pausiert",
  },
  pausing: "hält an",
  behind: "Rückstand",
  rows: "Übernommen",
  written: "Zuletzt geschrieben",
  fault: "Letzter Fehler",
  since: (time) => `seit ${time}`,
  snapshots: "Ganz kopiert",
  snapshotReason: "Grund der letzten Kopie",
  times: (count) => count === 1 ? "einmal" : `${count}-mal`,
  pause: "Pausieren",
  paused: "Der Stream pausiert",
  resume: "Fortsetzen",
  resumed: "Der Stream läuft weiter",
  again: "Alle Zeilen neu kopieren",
  againText: "Das Ziel bekommt jede Zeile der Tabelle noch einmal, danach die Änderungen, die darauf folgten.",
  againAsked: "Alle Zeilen werden neu kopiert",
  isAsked: "Alle Zeilen werden noch einmal kopiert.",
};
