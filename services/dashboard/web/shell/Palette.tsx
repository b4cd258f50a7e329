/** The palette: pages, actions of the page in view, and what the project has, found by typing. */

import { useEffect, useId, useRef, useState } from "react";
import { Dialog as AriaDialog } from "react-aria-components/Dialog";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { Icon } from "../components/Icon.tsx";
import { noteChosenNavigation } from "../components/unsaved.ts";
import { type PaletteEntry, usePaletteEntries } from "./paletteEntries.ts";
import { paletteTexts } from "./paletteTexts.ts";

export default function Palette({ onClose, typed = "" }: { onClose: () => void; typed?: string }) {
  const [text, setText] = useState(typed);
  const [active, setActive] = useState(0);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const [entries, noteChosen] = usePaletteEntries(text);
  const shown = Math.min(active, entries.length - 1);
  const choose = (entry: PaletteEntry | undefined) => {
    if (!entry) return;
    noteChosen(entry);
    onClose();
    noteChosenNavigation();
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
        <AriaDialog className="palette" aria-label={paletteTexts.title}>
          <div className="palette-input">
            <Icon name="search" />
            <input
              role="combobox"
              aria-expanded="true"
              aria-controls={id}
              aria-autocomplete="list"
              aria-label={paletteTexts.title}
              {...(entries[shown] ? { "aria-activedescendant": `${id}-${shown}` } : {})}
              autoFocus
              autoComplete="off"
              spellCheck={false}
              placeholder={paletteTexts.placeholder}
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
          <ul id={id} ref={list} role="listbox" aria-label={paletteTexts.title} className="palette-list">
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
                <span className="faint cut">{entry.hint}</span>
              </li>
            ))}
          </ul>
          {entries.length === 0 && <p className="palette-none soft" role="status">{paletteTexts.none}</p>}
          <p className="palette-hint faint">{paletteTexts.hint}</p>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
