/** The page Backups in German. */
import type { backupsTexts } from "../pages/backups/texts.ts";
import type { Translation } from "./translation.ts";

export const backups: Translation<typeof backupsTexts> = {
  title: "Sicherungen",
  tabs: { folder: "Sicherungen", continuous: "Zeitpunkte" },
  create: "Jetzt sichern",
  running: (name) => `Sicherung ${name} läuft`,
  started: "Begonnen",
  runningText: "Anfragen laufen währenddessen weiter. Die Seite kann verlassen werden.",
  done: (name) => `Sicherung ${name} ist gespeichert`,
  failed: (name) => `Sicherung ${name} ist fehlgeschlagen`,
  output: "Was sie meldet",
  figures: {
    last: "Letzte Sicherung",
    none: "noch keine",
    stored: "Gespeichert",
    count: (count) => count === 1 ? "in 1 Sicherung" : `in ${count} Sicherungen`,
    next: "Nächste",
    noSchedule: "kein Zeitplan",
    kept: (count) => count === 0 ? "alle bleiben" : count === 1 ? "1 bleibt" : `${count} bleiben`,
  },
  list: {
    title: "Alle Sicherungen",
    none: "Noch keine Sicherungen",
    noneText:
      "Eine Sicherung enthält die ganze Datenbank und die Bytes aller Objekte, sodass daraus eine neue Plattform entstehen kann. Sie wird in einen Ordner der Maschine geschrieben.",
    made: "Erstellt",
    database: "Datenbank",
    contents: "Inhalt",
    objects: "Objekte",
    version: "Erstellt mit",
    tables: (count) => count === "1" ? "1 Tabelle" : `${count} Tabellen`,
    users: (count) => `${count} Nutzer`,
    objectCount: (count, bytes) => `${count} (${bytes})`,
    unknown: "nicht vermerkt",
    folder: "Sie liegen in",
    folderHint: "Ein Ordner auf einer anderen Platte übersteht den Verlust dieser: `management.backup_folder`.",
  },
  detail: {
    title: (name) => `Sicherung ${name}`,
    made: "Erstellt",
    by: "Erstellt mit",
    byVersions: (headwater, postgres) => `Headwater ${headwater}, Postgres ${postgres}`,
    dump: "Datenbank, komprimiert",
    restore: "Wiederherstellung",
    restoreText:
      "Ein Probelauf liest die Sicherung, vergleicht sie mit dem, was geschrieben wurde, und sagt, was eine Wiederherstellung hier ergäbe. Geändert wird nichts.",
    plan: "Probelauf",
    fits: "Die Sicherung ist vollständig und lässt sich hier wiederherstellen.",
    problems: "Sie würde abgelehnt",
    now: "Jetzt",
    after: "Nach der Wiederherstellung",
    what: "Was",
    size: "Datenbank auf der Platte",
    tables: "Tabellen",
    users: "Nutzer",
    objects: "Objekte",
    replaced: "Alles, was die Plattform jetzt hat, geht verloren. Verwalter und hier geänderte Einstellungen bleiben.",
    migrations: (count) =>
      count === 1
        ? "1 Migration der Plattform würde darauf angewendet:"
        : `${count} Migrationen der Plattform würden darauf angewendet:`,
    command: "Befehl, der sie wiederherstellt",
    commandText:
      "Auf der Maschine der Plattform einzugeben. Die Plattform antwortet, bis die neue Datenbank vollständig ist.",
    delete: "Sicherung löschen",
    deleteText: "Ihre Dateien werden gelöscht. Das lässt sich nicht rückgängig machen.",
    deleted: (name) => `Sicherung ${name} ist gelöscht`,
    gone: "Diese Sicherung gibt es nicht mehr",
  },
  schedule: {
    title: "Zeitplan",
    change: "Zeitplan ändern",
    never: "Nichts wird von selbst gesichert",
    isMade: "Gesichert wird",
    kept: (count) =>
      count === 0
        ? "Alle Sicherungen bleiben."
        : count === 1
        ? "Nach jeder Sicherung bleibt nur die neueste."
        : `Nach jeder Sicherung bleiben die neuesten ${count}.`,
    when: "Wann",
    choices: {
      never: "Nie",
      hourly: "Jede Stunde",
      daily: "Jeden Tag",
      weekly: "Jede Woche",
      other: "Andere Zeit",
    },
    at: "Um (GMT)",
    atHint: "Stunden und Minuten, wie 03:00",
    badTime: "Stunden und Minuten angeben, wie 03:00",
    day: "Am",
    cron: "Fünf Felder von cron, in GMT",
    cronHint: "Minute, Stunde, Tag des Monats, Monat, Wochentag: 30 2 * * 1-5",
    keptCount: "Sicherungen, die bleiben",
    keptHint: "Ältere werden nach jeder Sicherung des Zeitplans gelöscht; bei 0 bleiben alle",
    badCount: "Eine Zahl von Sicherungen angeben, oder 0",
    changed: "Der Zeitplan ist geändert",
    save: "Zeitplan ändern",
    fixed: (variables) =>
      `Die Umgebung legt ihn für die Maschine fest (${variables}); hier lässt er sich daher nicht ändern.`,
    onlyOwner: "Ein Eigentümer kann ihn ändern.",
    words: {
      hourly: "jede volle Stunde",
      daily: (time) => `jeden Tag um ${time} GMT`,
      weekly: (day, time) => `jeden ${day} um ${time} GMT`,
    },
    days: {
      0: "Sonntag",
      1: "Montag",
      2: "Dienstag",
      3: "Mittwoch",
      4: "Donnerstag",
      5: "Freitag",
      6: "Samstag",
    },
  },
  continuous: {
    off: "Jeder Zeitpunkt lässt sich zurückholen",
    offText:
      "Die fortlaufende Sicherung speichert jeden Commit binnen Sekunden, verschlüsselt, in einem Ordner oder einem Objektspeicher. Eine Wiederherstellung holt dann jeden Zeitpunkt der letzten sieben Tage zurück. Eingeschaltet wird sie dort, wo die Plattform läuft:",
    offCommands: "Befehle zum Einschalten",
    offHint:
      "Eine Kopie des Schlüssels getrennt von der Maschine aufbewahren. Die Einstellungen für einen Objektspeicher stehen in docs/backups.md.",
    earlier: "Sie ist jetzt ausgeschaltet. Was bis dahin gespeichert wurde, lässt sich noch wiederherstellen.",
    states: {
      off: "ausgeschaltet",
      starting: "erste Basissicherung läuft",
      good: "alles ist gespeichert",
      behind: "im Rückstand",
      failing: "schlägt fehl",
      silent: "meldet sich nicht",
    },
    notes: {
      off: "",
      starting: "Zeitpunkte lassen sich wiederherstellen, sobald die erste Basissicherung vollständig ist.",
      good: "",
      behind: "Der letzte gespeicherte Zeitpunkt ist älter als vorgesehen. Die Datenbank behält solange ihr Log.",
      failing:
        "Nichts geht verloren, solange die Datenbank ihr Log behält. Es geht von selbst weiter, wenn der Grund behoben ist.",
      silent: "Der Prozess archive hat sich seit zwei Minuten nicht gemeldet. `headwater logs archive` sagt, warum.",
    },
    elsewhere:
      "Der Prozess archive läuft auf einer anderen Maschine. Seine Basissicherungen und Zeitpunkte zeigt dort `headwater backup --list`.",
    figures: {
      lag: "Letzter gespeicherter Zeitpunkt",
      lagHint: "was mit der Maschine verloren ginge",
      span: "Wiederherstellbar",
      spanHint: (span) => `${span} werden aufbewahrt`,
      noSpan: "noch nichts",
      base: "Letzte Basissicherung",
      baseRunning: "eine läuft gerade",
      baseEvery: (span) => `eine alle ${span}`,
      waiting: "Wartet aufs Speichern",
      waitingHint: (limit) => `von ${limit}, die die Datenbank behält`,
    },
    ago: (span) => `vor ${span}`,
    timeline: (from, until, bases) =>
      `Zeitpunkte von ${from} bis ${until} sind wiederherstellbar, aus ${
        bases === 1 ? "1 Basissicherung" : `${bases} Basissicherungen`
      }`,
    from: "Von",
    until: "Bis",
    bases: "Basissicherungen",
    basesNone: "Noch keine ist vollständig",
    began: "Begonnen",
    took: "Dauer",
    size: "Größe",
    baseName: "Name",
    kind: "Art",
    full: "voll",
    incremental: "inkrementell",
    restore: "Einen Zeitpunkt zurückholen",
    restoreText:
      "Eine Wiederherstellung schreibt einen neuen Datenordner neben den benutzten, während die Plattform weiterläuft. Diese Befehle werden auf der Maschine der Plattform eingegeben.",
    moment: "Zeitpunkt",
    momentHint: (zone) => `In der eigenen Zeitzone (${zone})`,
    outside: (from, until) => `Er muss zwischen ${from} und ${until} liegen`,
    notATime: "Datum und Uhrzeit wählen",
    noMoment: "Sobald ein Zeitpunkt gewählt ist, stehen hier die Befehle.",
    isUtc: (utc) => `${utc} in UTC`,
    dryRun: "1. Sehen, was es ergäbe",
    dryRunHere: "Probelauf",
    plan: {
      fits: "Dieser Zeitpunkt lässt sich wiederherstellen. Geändert wurde nichts.",
      problem: "Dieser Zeitpunkt lässt sich nicht wiederherstellen",
      target: "Zeitpunkt",
      base: "Aus",
      baseOf: (time, bytes, count) =>
        `Basissicherung vom ${time}, ${bytes}${count > 1 ? ` (eine volle und ${count - 1} inkrementelle)` : ""}`,
      log: "Einzuspielendes Log",
      pieces: (bytes, count) => count === "1" ? `${bytes} in 1 Teil` : `${bytes} in ${count} Teilen`,
      objects: "Objekte",
      copies: (count) => count === "1" ? "1 Kopie im Archiv" : `${count} Kopien im Archiv`,
      disk: "Bedarf auf der Platte",
      without: "Ohne diese Migrationen, die später kamen",
    },
    beside: "2. Daneben wiederherstellen",
    besideText:
      "Der Befehl gibt aus, wie sich das Ergebnis ausprobieren lässt. Was in Gebrauch ist, bleibt unverändert.",
    switch: "3. Oder wiederherstellen und einsetzen",
    switchText:
      "Die Plattform hält an, übernimmt den wiederhergestellten Ordner und startet neu. Der bisherige Ordner bleibt daneben liegen.",
    place: "Gespeichert in",
    archive: "Archiv",
    retention: "Aufbewahrt für",
    drill: "Letzte Wiederherstellungsprobe",
    drillPassed: (seconds, tables, rows) =>
      `alles, wie es sein soll: ${tables === 1 ? "1 Tabelle" : `${tables} Tabellen`} mit ${
        rows === 1 ? "1 Zeile" : `${rows} Zeilen`
      }, in ${seconds}`,
    drillFailed: (fault, more) =>
      more === 0
        ? `fehlgeschlagen: ${fault}`
        : `fehlgeschlagen: ${fault} (und ${more} ${more === 1 ? "weiterer" : "weitere"} Fehler)`,
    drillUnsent: (reason) => `Der Webhook nahm das Ergebnis nicht an: ${reason}`,
    facts: "Ablage",
  },
};
