import { useState } from "react";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Button, IconButton } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import type { KeptRequest } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { functionsTexts } from "./texts.ts";

const texts = functionsTexts.kept;

/** The kept requests of a function: one is chosen to fill the form, the present one is kept under a name. */
export function KeptRequests({ name, present, onChoose }: {
  name: string;
  /** The request of the form; null while it cannot be sent. */
  present: Omit<KeptRequest, "name"> | null;
  onChoose: (request: KeptRequest) => void;
}) {
  const kept = useOperation("functions.requests", { name });
  const mayKeep = useMay("functions.keep_requests");
  const [isNaming, setNaming] = useState(false);
  const keep = useChange("functions.keep_requests", { invalidates: ["functions.requests"], doneText: texts.done });
  const requests = kept.data?.requests ?? [];
  if (!kept.data?.folder_is_known) return null;
  return (
    <div className="functions-kept" role="group" aria-label={texts.title}>
      {requests.map((request) => (
        <span key={request.name} className="chip">
          <Button size="small" variant="quiet" onPress={() => onChoose(request)}>{request.name}</Button>
          {mayKeep && (
            <IconButton
              icon="close"
              size="small"
              label={texts.remove(request.name)}
              onPress={() => keep.mutate({ name, requests: requests.filter((other) => other !== request) })}
            />
          )}
        </span>
      ))}
      {mayKeep && (
        <Button size="small" icon="save" isDisabled={present === null} onPress={() => setNaming(true)}>
          {texts.keep}
        </Button>
      )}
      {isNaming && present && (
        <NameRequest
          onClose={() => setNaming(false)}
          onName={(chosen) => {
            setNaming(false);
            const others = requests.filter((other) => other.name !== chosen);
            keep.mutate({ name, requests: [...others, { name: chosen, ...present }] });
          }}
        />
      )}
    </div>
  );
}

function NameRequest({ onClose, onName }: { onClose: () => void; onName: (name: string) => void }) {
  const [name, setName] = useState("");
  return (
    <Dialog
      title={texts.keep}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() => name.trim() && onName(name.trim())}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!name.trim()}>{texts.keepAction}</Button>
        </>
      }
    >
      <Field label={texts.name} hint={texts.nameHint} value={name} onChange={setName} autoComplete="off" hasFocus />
    </Dialog>
  );
}
