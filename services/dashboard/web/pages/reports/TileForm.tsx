import { useState } from "react";
import { useOperation } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { ComboBox, Select } from "../../components/Select.tsx";
import { Note } from "../../components/states.tsx";
import type { ReportTile } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { reportsTexts as texts } from "./texts.ts";

type Kind = ReportTile["shown_as"];

/** Chooses a saved query and how its result is shown. */
export function TileForm({ tile, onClose, onDone }: {
  tile: ReportTile | null;
  onClose: () => void;
  onDone: (tile: ReportTile) => void;
}) {
  const snippets = useOperation("snippets.list", {});
  const [snippet, setSnippet] = useState(tile?.snippet ?? "");
  const [kind, setKind] = useState<Kind>(tile?.shown_as ?? "line");
  const [title, setTitle] = useState(tile?.title ?? "");
  const [x, setX] = useState(tile?.x ?? "");
  const [y, setY] = useState(tile?.y ?? "");
  const choices = (snippets.data?.snippets ?? []).map(({ name }) => ({ id: name, label: name }));
  const isChart = kind === "line" || kind === "bar";
  const save = () =>
    snippet && onDone({
      snippet,
      shown_as: kind,
      title: title.trim(),
      x: isChart ? x.trim() : "",
      y: kind === "table" ? "" : y.trim(),
      is_wide: tile?.is_wide ?? false,
    });
  return (
    <Dialog
      title={tile ? texts.editTitle : texts.add}
      isOpen
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!snippet}>
            {tile ? texts.editAction : texts.addAction}
          </Button>
        </>
      }
    >
      {snippets.data && choices.length === 0 && <Note kind="warn">{texts.noSnippets}</Note>}
      <ComboBox
        label={texts.snippet}
        hint={texts.snippetHint}
        value={snippet || null}
        onChange={setSnippet}
        choices={choices}
      />
      <Select
        label={texts.shownAs}
        value={kind}
        onChange={setKind}
        choices={(Object.keys(texts.kinds) as Kind[]).map((id) => ({ id, label: texts.kinds[id] }))}
      />
      <Field label={texts.tileTitle} hint={texts.tileTitleHint} value={title} onChange={setTitle} autoComplete="off" />
      {isChart && (
        <Field label={texts.across} hint={texts.columnHint} value={x} onChange={setX} isCode autoComplete="off" />
      )}
      {kind !== "table" && (
        <Field
          label={isChart ? texts.up2 : texts.value}
          hint={texts.columnHint}
          value={y}
          onChange={setY}
          isCode
          autoComplete="off"
        />
      )}
    </Dialog>
  );
}
