import { useState } from "react";
import { Button, IconButton } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { useKept } from "../../components/kept.ts";
import { texts as shellTexts } from "../../texts.ts";
import type { ColumnsState, ColumnsView } from "./columnsView.ts";
import { tablesTexts as texts } from "./texts.ts";
import type { useViewState } from "./viewState.ts";

/** The members of the address that make a view. */
const members = ["filters", "sort", "as"] as const;

interface SavedView {
  name: string;
  search: { readonly [member in (typeof members)[number]]: string | null };
  columns: ColumnsState | null;
}

/** Saves the view of a table under a name, and opens saved ones: filters, sorts, caller and columns. */
export default function SavedViewsDialog({ table, view, columns, onClose }: {
  /** `schema.table`. */
  table: string;
  view: ReturnType<typeof useViewState>;
  columns: ColumnsView;
  onClose: () => void;
}) {
  const [saved, change] = useKept<readonly SavedView[]>(`views:${table}`, () => []);
  const [name, setName] = useState("");
  const save = () => {
    if (!name.trim()) return;
    const search = Object.fromEntries(members.map((member) => [member, view.search[member] ?? null]));
    const added = { name: name.trim(), search: search as SavedView["search"], columns: columns.state };
    change((before) => [...before.filter((other) => other.name !== added.name), added]);
    onClose();
  };
  const open = ({ search, columns: shown }: SavedView) => {
    columns.restore(shown);
    view.changeSearch({ ...search, at: null }, false);
    onClose();
  };
  return (
    <Dialog
      title={texts.views.title}
      isOpen
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.close}</Button>
          <Button type="submit" variant="primary" isDisabled={!name.trim()}>{texts.views.save}</Button>
        </>
      }
    >
      <p className="soft">{saved.length === 0 ? texts.views.none : texts.views.text}</p>
      <ul className="tables-columns">
        {saved.map((one) => (
          <li key={one.name}>
            <Button variant="quiet" icon="eye" onPress={() => open(one)}>{one.name}</Button>
            <IconButton
              icon="trash"
              size="small"
              label={texts.views.remove(one.name)}
              onPress={() => change((before) => before.filter((other) => other.name !== one.name))}
            />
          </li>
        ))}
      </ul>
      <Field
        label={texts.views.name}
        hint={texts.views.nameHint}
        value={name}
        onChange={setName}
        autoComplete="off"
        hasFocus
      />
    </Dialog>
  );
}
