/** What the palette finds: pages, actions, objects of the database, users, functions, snippets and settings. */

import { useMemo } from "react";
import { pathOf, type Search, useGo } from "../address.tsx";
import type { OperationName } from "../api/client.ts";
import { useDelayed } from "../api/delayed.ts";
import { useMe, useOperation, useValue } from "../api/hooks.ts";
import { may } from "../api/rights.ts";
import type { IconName } from "../components/Icon.tsx";
import { useKept } from "../components/kept.ts";
import type { NameMatch } from "../generated/operations.ts";
import { texts } from "../texts.ts";
import { pageCommands } from "./commands.ts";
import { useListedPages } from "./listedPages.ts";
import { type Ranked, ranked } from "./ranking.ts";
import { chooseTheme, themes } from "./theme.ts";
import { paletteTexts } from "./paletteTexts.ts";

export interface PaletteEntry extends Ranked {
  hint: string;
  icon: IconName;
  run: () => void;
}

const mostEntries = 12;
const mostOfAKind = 8;
const mostRecent = 20;
const leastTyped = 2;
const knownForMs = 60_000;

/** Return the entries for what was typed, the best first, and what notes that one was chosen. */
export function usePaletteEntries(text: string): readonly [readonly PaletteEntry[], (entry: PaletteEntry) => void] {
  const fixed = useFixedEntries();
  const found = useFoundEntries(text);
  const [recent, changeRecent] = useKept<readonly string[]>("palette", () => []);
  const entries = useMemo(() => ranked([...fixed, ...found], text, recent).slice(0, mostEntries), [
    text,
    fixed,
    found,
    recent,
  ]);
  const note = (entry: PaletteEntry) =>
    changeRecent((before) => [entry.id, ...before.filter((id) => id !== entry.id)].slice(0, mostRecent));
  return [entries, note];
}

function useFixedEntries(): readonly PaletteEntry[] {
  const listed = useListedPages();
  const commands = useValue(pageCommands);
  const go = useGo();
  return useMemo(() => [
    ...commands.map(({ id, label, run }) => ({
      id: `command ${id}`,
      hint: paletteTexts.actions,
      label,
      icon: "bolt" as const,
      run,
    })),
    ...listed.map((page) => ({
      id: `page ${page.path}`,
      hint: paletteTexts.pages,
      label: page.title,
      icon: page.icon,
      run: () => go(page.path),
    })),
    ...themes.map((theme) => ({
      id: `theme ${theme}`,
      hint: paletteTexts.actions,
      label: `${texts.shell.theme}: ${texts.shell.themes[theme]}`,
      icon: "sun" as const,
      run: () => chooseTheme(theme),
    })),
  ], [commands, listed]);
}

function useFoundEntries(text: string): readonly PaletteEntry[] {
  const go = useGo();
  const listed = useListedPages();
  const searched = useDelayed(text.trim());
  const isEnabled = searched.length >= leastTyped;
  // What the role closes is not asked for: it would be refused at every letter.
  const me = useMe();
  const lasting = (name: OperationName) => ({ isEnabled: isEnabled && may(me, name, false), staleAfter: knownForMs });
  const objects = useOperation("catalog.search", { text: searched.slice(0, 63), limit: mostOfAKind }, {
    isEnabled: isEnabled && may(me, "catalog.search", false),
    keepsPrevious: true,
  });
  const schemas = useOperation("catalog.schemas", {}, lasting("catalog.schemas"));
  const users = useOperation("users.search", { contains: searched, limit: mostOfAKind }, {
    isEnabled: isEnabled && may(me, "users.search", false),
    keepsPrevious: true,
  });
  const functions = useOperation("functions.list", {}, lasting("functions.list"));
  const snippets = useOperation("snippets.list", {}, lasting("snippets.list"));
  const reports = useOperation("reports.list", {}, lasting("reports.list"));
  const docs = useOperation("docs.search", { text: searched.slice(0, 200), limit: mostOfAKind }, {
    isEnabled,
    keepsPrevious: true,
  });
  const settings = useOperation("settings.list", {}, lasting("settings.list"));
  return useMemo(() => {
    if (!isEnabled) return [];
    const has = (path: string) => listed.some((page) => page.path === path);
    const entry = (kind: string, label: string, icon: IconName, hint: string, to: string, search?: Search) =>
      has(to.split("/")[0]!) ? [{ id: `${kind} ${label} ${to}`, label, icon, hint, run: () => go(to, search) }] : [];
    const platform = new Set(schemas.data?.filter((schema) => schema.is_platform).map(({ name }) => name));
    const { user, fn, snippet, setting } = paletteTexts;
    return [
      ...(objects.data ?? []).flatMap((match) =>
        entry(match.kind, labelOf(match), iconOf(match), `${match.kind} · ${match.schema ?? ""}`, targetOf(match))
          .map((one) => ({ ...one, isOfPlatform: platform.has(match.schema ?? "") }))
      ),
      ...(functions.data ?? []).flatMap(({ name }) => entry("fn", name, "function", fn, pathOf("functions", name))),
      ...(users.data?.rows ?? []).flatMap(({ id, email, phone }) =>
        entry("user", email || phone || id, "user", user, pathOf("users", id))
      ),
      ...(snippets.data?.snippets ?? []).flatMap(({ name }) =>
        entry("snippet", name, "file", snippet, "sql", { snippet: name })
      ),
      ...(reports.data?.reports ?? []).flatMap(({ name }) =>
        entry("report", name, "gauge", paletteTexts.report, pathOf("reports", name))
      ),
      ...(docs.data ?? []).map(({ page, heading }) => ({
        id: `doc ${page} ${heading}`,
        label: heading,
        icon: "book" as const,
        hint: paletteTexts.doc,
        isOfPlatform: true,
        isFoundByText: true,
        run: () => go(pathOf("docs", page), { section: heading.split(": ").slice(1).join(": ") || heading }),
      })),
      ...(settings.data?.settings ?? []).flatMap(({ key }) =>
        entry("setting", key, "settings", setting, "settings/values", { open: key })
          .map((one) => ({ ...one, isOfPlatform: true }))
      ),
    ];
  }, [
    isEnabled,
    listed,
    objects.data,
    schemas.data,
    users.data,
    functions.data,
    snippets.data,
    reports.data,
    docs.data,
    settings.data,
  ]);
}

function labelOf({ of, name }: NameMatch): string {
  return of && of !== name ? `${of}.${name}` : name;
}

function isRelation({ kind }: NameMatch): boolean {
  return /table|view|relation|column/.test(kind);
}

function iconOf(match: NameMatch): IconName {
  return isRelation(match) ? "table" : "layers";
}

/** Return the address that shows an object of the database. */
function targetOf(match: NameMatch): string {
  const { kind, of, name } = match;
  const schema = match.schema || "public";
  if (isRelation(match)) return pathOf("tables", schema, of ?? name);
  if (kind === "schema") return pathOf("tables", name);
  if (of) return pathOf("schema", "tables", schema, of);
  if (/function|procedure|aggregate/.test(kind)) return pathOf("schema", "functions", schema);
  if (/enum|type|domain/.test(kind)) return pathOf("schema", "types", schema);
  if (kind === "sequence") return pathOf("schema", "sequences", schema);
  if (kind === "publication") return "schema/publications";
  return kind === "extension" ? "schema/extensions" : pathOf("schema", "tables", schema);
}
