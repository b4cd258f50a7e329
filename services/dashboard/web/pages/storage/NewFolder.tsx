import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { texts as shellTexts } from "../../texts.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.objects;

/** Name a folder, and open it: it exists as soon as a file is in it. */
export function NewFolder({ onClose, onName }: { onClose: () => void; onName: (name: string) => void }) {
  const [name, setName] = useState("");
  const isBad = name.includes("/");
  const isReady = name.trim() !== "" && !isBad;
  const submit = () => {
    if (!isReady) return;
    onClose();
    onName(name.trim());
  };
  return (
    <Dialog
      title={texts.newFolder}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!isReady}>{texts.openFolder}</Button>
        </>
      }
    >
      <Field
        label={texts.newFolderField}
        value={name}
        onChange={setName}
        hint={texts.newFolderHint}
        error={isBad ? texts.badFolder : undefined}
        autoComplete="off"
        hasFocus
      />
    </Dialog>
  );
}
