import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { run } from "../../api/client.ts";
import { invalidate } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { ComboBox } from "../../components/Select.tsx";
import { toast } from "../../components/toasts.ts";
import { texts as shared } from "../../texts.ts";
import { baseOf, useBuckets } from "./lists.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.moveMany;

interface Moved {
  bucket: string;
  name: string;
  to_name: string;
  to_bucket: string;
}

/** Move files and folders (names that end in a slash) into another folder; what was moved can be undone. */
export function MoveMany({ bucket, folder, names, onClose, onDone }: {
  bucket: string;
  folder: string;
  names: readonly string[];
  onClose: () => void;
  onDone: () => void;
}) {
  const [toFolder, setToFolder] = useState(folder);
  const [toBucket, setToBucket] = useState(bucket);
  const [isMoving, setMoving] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const client = useQueryClient();
  const buckets = useBuckets("");
  const choices = buckets.data?.pages.flatMap(({ rows }) => rows.map(({ id }) => ({ id, label: id }))) ??
    [{ id: bucket, label: bucket }];
  const path = toFolder.trim().replace(/^\/+|\/+$/g, "");
  const target = path ? `${path}/` : "";
  // A folder cannot be moved into itself.
  const isReady = (target !== folder || toBucket !== bucket) &&
    !(toBucket === bucket && names.some((name) => name.endsWith("/") && target.startsWith(name)));
  const move = async () => {
    if (!isReady || isMoving) return;
    setMoving(true);
    setError(null);
    const moved: Moved[] = [];
    try {
      for (const name of names) {
        const change = { bucket, name, to_name: nameIn(target, name), to_bucket: toBucket };
        await run("storage.move", change);
        moved.push(change);
      }
      onClose();
      onDone();
    } catch (failure) {
      setError(failure);
    } finally {
      setMoving(false);
      await invalidate(client, ["storage."]);
    }
    if (moved.length > 0) {
      toast.done(texts.done(moved.length, names.length), {
        action: {
          label: shared.actions.undo,
          run: () => void undo(moved).finally(() => invalidate(client, ["storage."])),
        },
      });
    }
  };
  return (
    <Dialog
      title={texts.title(names.length)}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() => void move()}
      error={error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!isReady} isPending={isMoving}>{texts.action}</Button>
        </>
      }
    >
      <Field
        label={texts.folder}
        hint={texts.folderHint}
        value={toFolder}
        onChange={setToFolder}
        isCode
        hasFocus
        autoComplete="off"
      />
      <ComboBox
        key={choices.length}
        label={storageTexts.move.bucket}
        choices={choices}
        value={toBucket}
        onChange={setToBucket}
      />
    </Dialog>
  );
}

function nameIn(target: string, name: string): string {
  return `${target}${baseOf(name)}${name.endsWith("/") ? "/" : ""}`;
}

async function undo(moved: readonly Moved[]): Promise<void> {
  try {
    for (const { bucket, name, to_name, to_bucket } of moved.toReversed()) {
      await run("storage.move", { bucket: to_bucket, name: to_name, to_name: name, to_bucket: bucket });
    }
    toast.done(storageTexts.move.undo);
  } catch (error) {
    toast.error(error);
  }
}
