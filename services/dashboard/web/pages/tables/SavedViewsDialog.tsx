import { useState } from "react";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Button, IconButton } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { QueryView } from "../../components/states.tsx";
import type { SavedView } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import type { ColumnsState, ColumnsView } from "./columnsView.ts";
import { tablesTexts as texts } from "./texts.ts";
import type { useViewState } from "./viewState.ts";

/** The members of the address that make a view. */
const members = ["filters", "sort", "as"] as const;

/** The content of a saved view. */
interface ViewContent {
  search: { readonly [member in (typeof members)[number]]: string | null };
  columns: ColumnsState | null;
}

/** Saves the view of a table under a name, for oneself or for all, and opens saved ones: filters, sorts, caller and columns. */
export default function SavedViewsDialog({ table, view, columns, onClose }: {
  table: { schema: string; name: string };
  view: ReturnType<typeof useViewState>;
  columns: ColumnsView;
  onClose: () => void;
}) {
  const place = { schema: table.schema, table: table.name };
  const saved = useOperation("saved_views.list", place);
  const [name, setName] = useState("");
  const [isShared, setShared] = useState(false);
  const mayShare = useMay("snippets.save"); // a developer's right, as that to share a view
  const store = useChange("saved_views.save", { invalidates: ["saved_views."], showsError: true, onDone: onClose });
  const remove = useChange("saved_views.remove", { invalidates: ["saved_views."], showsError: true });
  const save = () => {
    if (!name.trim()) return;
    const search = Object.fromEntries(members.map((member) => [member, view.search[member] ?? null]));
    store.mutate({
      ...place,
      name: name.trim(),
      is_shared: isShared,
      content: { search, columns: columns.state } as never,
    });
  };
  const open = ({ content }: SavedView) => {
    const { search, columns: shown } = content as unknown as ViewContent;
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
      error={store.error ?? remove.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.close}</Button>
          <Button type="submit" variant="primary" isDisabled={!name.trim() || store.isPending}>
            {texts.views.save}
          </Button>
        </>
      }
    >
      <QueryView query={saved}>
        {(views) => (
          <>
            <p className="soft">{views.length === 0 ? texts.views.none : texts.views.text}</p>
            <ul className="tables-columns">
              {views.map((one) => (
                <li key={`${one.is_shared} ${one.name}`}>
                  <Button variant="quiet" icon={one.is_shared ? "users" : "eye"} onPress={() => open(one)}>
                    {one.is_shared ? texts.views.sharedName(one.name) : one.name}
                  </Button>
                  {(!one.is_shared || mayShare) && (
                    <IconButton
                      icon="trash"
                      size="small"
                      label={texts.views.remove(one.name)}
                      onPress={() => remove.mutate({ ...place, name: one.name, is_shared: one.is_shared })}
                    />
                  )}
                </li>
              ))}
            </ul>
          </>
        )}
      </QueryView>
      <Field
        label={texts.views.name}
        hint={texts.views.nameHint}
        value={name}
        onChange={setName}
        autoComplete="off"
        hasFocus
      />
      {mayShare && <Checkbox isSelected={isShared} onChange={setShared}>{texts.views.share}</Checkbox>}
    </Dialog>
  );
}
