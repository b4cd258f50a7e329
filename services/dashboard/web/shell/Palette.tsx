/** The palette: pages, actions of the page in view, and objects of the database, found by typing. */

import { useEffect, useId, useMemo, useRef, useState } from "react";
import { Dialog as AriaDialog } from "react-aria-components/Dialog";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { useOperation, useValue } from "../api/hooks.ts";
import { pathOf, useGo } from "../address.tsx";
import { Icon, type IconName } from "../components/Icon.tsx";
import type { NameMatch } from "../generated/operations.ts";
import { pages } from "../pages.ts";
import { texts } from "../texts.ts";
import { pageCommands } from "./commands.ts";
import { useListedPages } from "./listedPages.ts";
import { chooseTheme, themes } from "./theme.ts";

interface Entry {
  id: string;
  group: string;
  label: string;
  hint?: string;
  icon: IconName;
  run: () => void;
}

const mostEntries = 12;
const waitMs = 150;

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const entries = useEntries(text);
  const shown = Math.min(active, entries.length - 1);
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [shown]);
  return (
    <ModalOverlay
      className="overlay overlay-palette"
      isOpen
      onOpenChange={(opens) => opens || onClose()}
      isDismissable
    >
      <Modal className="modal modal-palette">
        <AriaDialog className="palette" aria-label={texts.palette.title}>
          <div className="palette-input">
            <Icon name="search" />
            <input
              role="combobox"
              aria-expanded="true"
              aria-controls={id}
              aria-autocomplete="list"
              aria-label={texts.palette.title}
              {...(entries[shown] ? { "aria-activedescendant": `${id}-${shown}` } : {})}
              autoFocus
              autoComplete="off"
              spellCheck={false}
              placeholder={texts.palette.placeholder}
              value={text}
              onChange={(event) => {
                setText(event.target.value);
                setActive(0);
              }}
              onKeyDown={(event) => {
                const count = Math.max(1, entries.length);
                if (event.key === "ArrowDown") setActive((shown + 1) % count);
                else if (event.key === "ArrowUp") setActive((shown - 1 + count) % count);
                else if (event.key === "Enter") choose(entries[shown]);
                else return;
                event.preventDefault();
              }}
            />
          </div>
          <ul id={id} ref={list} role="listbox" aria-label={texts.palette.title} className="palette-list">
            {entries.map((entry, index) => (
              <li
                key={entry.id}
                id={`${id}-${index}`}
                role="option"
                aria-selected={index === shown}
                className="palette-entry"
                onPointerMove={() => setActive(index)}
                onClick={() => choose(entry)}
              >
                <Icon name={entry.icon} />
                <span className="cut">{entry.label}</span>
                <span className="faint cut">{entry.hint ?? entry.group}</span>
              </li>
            ))}
          </ul>
          {entries.length === 0 && <p className="palette-none soft" role="status">{texts.palette.none}</p>}
          <p className="palette-hint faint">{texts.palette.hint}</p>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

function useEntries(text: string): readonly Entry[] {
  const listed = useListedPages();
  const commands = useValue(pageCommands);
  const go = useGo();
  const searched = useLater(text.trim());
  const objects = useOperation("catalog.search", { text: searched, limit: 8 }, {
    isEnabled: searched.length > 1,
    keepsPrevious: true,
  });
  return useMemo(() => {
    const fixed: Entry[] = [
      ...commands.map((command) => ({
        id: `command ${command.id}`,
        group: texts.palette.actions,
        label: command.label,
        icon: "bolt" as const,
        run: command.run,
      })),
      ...listed.map((page) => ({
        id: `page ${page.path}`,
        group: texts.palette.pages,
        label: page.title,
        icon: page.icon,
        run: () => go(page.path),
      })),
      ...themes.map((theme) => ({
        id: `theme ${theme}`,
        group: texts.palette.actions,
        label: `${texts.shell.theme}: ${texts.shell.themes[theme]}`,
        icon: "sun" as const,
        run: () => chooseTheme(theme),
      })),
    ];
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = fixed.filter((entry) => words.every((word) => entry.label.toLowerCase().includes(word)));
    const found = words.length === 0 || searched.length < 2 ? [] : objects.data ?? [];
    return [...matches, ...found.flatMap((match) => entryOf(match, go))].slice(0, mostEntries);
  }, [text, searched, listed, commands, objects.data]);
}

/** Return where an object of the database is shown; nothing if that page is not there. */
function entryOf(match: NameMatch, go: (to: string) => void): Entry[] {
  const isRelation = /table|view|relation|column/.test(match.kind);
  const path = isRelation ? "tables" : "schema";
  if (!pages.some((page) => page.path === path)) return [];
  const relation = match.of ?? match.name;
  const schema = match.schema ?? "public";
  const target = isRelation ? pathOf("tables", schema, relation) : schemaPath(match, schema);
  return [{
    id: `${match.kind} ${match.schema} ${match.of} ${match.name}`,
    group: texts.palette.database,
    label: match.of && match.of !== match.name ? `${match.of}.${match.name}` : match.name,
    hint: `${match.kind} · ${match.schema ?? ""}`,
    icon: isRelation ? "table" : "layers",
    run: () => go(target),
  }];
}

/** Return the part of the page Schema that shows an object. */
function schemaPath({ kind, of }: NameMatch, schema: string): string {
  if (of) return pathOf("schema", "tables", schema, of);
  if (/function|procedure|aggregate/.test(kind)) return pathOf("schema", "functions", schema);
  if (/enum|type|domain/.test(kind)) return pathOf("schema", "types", schema);
  if (kind === "sequence") return pathOf("schema", "sequences", schema);
  if (kind === "publication") return "schema/publications";
  return kind === "extension" ? "schema/extensions" : pathOf("schema", "tables", schema);
}

/** Return a value as it was when it last stood still for a moment. */
function useLater(value: string): string {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), waitMs);
    return () => clearTimeout(timer);
  }, [value]);
  return later;
}
