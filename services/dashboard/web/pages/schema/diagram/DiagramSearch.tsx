import { type RefObject, useMemo, useState } from "react";
import { ComboBox } from "react-aria-components/ComboBox";
import { Input } from "react-aria-components/Input";
import { Label } from "react-aria-components/Label";
import { ListBox, ListBoxItem } from "react-aria-components/ListBox";
import { Popover } from "react-aria-components/Popover";
import { Text } from "react-aria-components/Text";
import { Icon } from "../../../components/Icon.tsx";
import { ranked } from "../../../shell/ranking.ts";
import { schemaTexts } from "../texts.ts";
import type { Box } from "./boxes.ts";

const texts = schemaTexts.diagram;
/** More are not read; typing goes on. */
const mostMatches = 40;

interface Entry {
  id: string;
  /** A table, or `table.column`. */
  label: string;
  hint: string;
  table: string;
  column: string | null;
}

/** Finds tables and columns by parts of their names; what is chosen is shown by `onFind`. */
export function DiagramSearch({ boxes, input, onFind }: {
  boxes: readonly Box[];
  input: RefObject<HTMLInputElement | null>;
  onFind: (table: string, column: string | null) => void;
}) {
  const [text, setText] = useState("");
  /** The label of the match that is shown: its text is no search, and the list stays closed. */
  const [found, setFound] = useState("");
  const isSearching = text.trim() !== "" && text !== found;
  const entries = useMemo(() => entriesOf(boxes), [boxes]);
  const matches = useMemo(
    () => isSearching ? ranked(entries, text, []).slice(0, mostMatches) : [],
    [entries, text, isSearching],
  );
  const choose = ({ label, table, column }: Entry) => {
    setText(label);
    setFound(label);
    onFind(table, column);
  };
  return (
    <ComboBox
      className="field schema-search"
      items={matches}
      inputValue={text}
      onInputChange={setText}
      selectedKey={null}
      onSelectionChange={(key) => {
        const entry = matches.find(({ id }) => id === key);
        if (entry) choose(entry);
      }}
      allowsCustomValue
      allowsEmptyCollection={isSearching}
      menuTrigger="input"
    >
      <Label className="for-readers">{texts.search}</Label>
      <div className="search-field">
        <Icon name="search" />
        <Input
          ref={input}
          className="input"
          placeholder={texts.search}
          onKeyDownCapture={(event) => {
            // Enter takes the first match where none was chosen by the arrow keys.
            const first = matches[0];
            if (event.key !== "Enter" || !first || event.currentTarget.hasAttribute("aria-activedescendant")) return;
            choose(first);
          }}
        />
      </div>
      <Popover className="popover" offset={4}>
        <ListBox className="choices" renderEmptyState={() => <p className="schema-none soft">{texts.noMatch}</p>}>
          {(entry: Entry) => (
            <ListBoxItem id={entry.id} textValue={entry.label} className="choice">
              <Text slot="label">{entry.label}</Text>
              <Text slot="description" className="hint">{entry.hint}</Text>
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}

function entriesOf(boxes: readonly Box[]): Entry[] {
  const tables = boxes.map(({ name, columns }) => entry(name, null, texts.columns(columns.length)));
  return [
    ...tables,
    ...boxes.flatMap(({ name, columns }) => columns.map((column) => entry(name, column.name, column.type))),
  ];
}

function entry(table: string, column: string | null, hint: string): Entry {
  const label = column === null ? table : `${table}.${column}`;
  return { id: JSON.stringify([table, column]), label, hint, table, column };
}
