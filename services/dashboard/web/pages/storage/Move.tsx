import { useState } from "react";
import { useChange } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { ComboBox } from "../../components/Select.tsx";
import { toast } from "../../components/toasts.ts";
import { texts as shellTexts } from "../../texts.ts";
import { useBuckets } from "./lists.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.move;
const invalidates = ["storage."] as const;

/** An object, or a folder with its slash, that gets another place. */
export interface Relocation {
  bucket: string;
  name: string;
  isCopy: boolean;
}

/** Rename, move or copy; a move can be undone. */
export function Move(
  { relocation, onClose, onDone }: { relocation: Relocation; onClose: () => void; onDone: () => void },
) {
  const { bucket, name, isCopy } = relocation;
  const isFolder = name.endsWith("/");
  const [toName, setToName] = useState(name);
  const [toBucket, setToBucket] = useState(bucket);
  const buckets = useBuckets("");
  const choices = buckets.data?.pages.flatMap(({ rows }) => rows.map(({ id }) => ({ id, label: id }))) ??
    [{ id: bucket, label: bucket }];
  const back = useChange("storage.move", { invalidates, doneText: texts.undo });
  const target = isFolder && !toName.endsWith("/") ? `${toName.trim()}/` : toName.trim();
  const isReady = target !== "" && target !== "/" && (target !== name || toBucket !== bucket);
  const move = useChange("storage.move", {
    invalidates,
    showsError: true,
    onDone: () => {
      const undo = () => back.mutate({ bucket: toBucket, name: target, to_name: name, to_bucket: bucket });
      toast.done(texts.done(target), { action: { label: shellTexts.actions.undo, run: undo } });
      onClose();
      onDone();
    },
  });
  const copy = useChange("storage.copy", {
    invalidates,
    showsError: true,
    doneText: texts.done(target),
    onDone: onClose,
  });
  const change = isCopy ? copy : move;
  return (
    <Dialog
      title={`${isCopy ? texts.copyTitle : texts.title}: ${name}`}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() => isReady && change.mutate({ bucket, name, to_name: target, to_bucket: toBucket })}
      error={change.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!isReady} isPending={change.isPending}>
            {isCopy ? texts.copyAction : texts.action}
          </Button>
        </>
      }
    >
      <Field
        label={isFolder ? texts.folderName : texts.name}
        value={toName}
        onChange={setToName}
        isCode
        hasFocus
        autoComplete="off"
      />
      <ComboBox key={choices.length} label={texts.bucket} choices={choices} value={toBucket} onChange={setToBucket} />
    </Dialog>
  );
}
