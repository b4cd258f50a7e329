import { useState } from "react";
import { useChange } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import type { JsonValue } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.queues;

/** Sends a message to a queue, to be read at once or later. */
export function SendMessage({ queue, onClose }: { queue: string; onClose: () => void }) {
  const [text, setText] = useState("{}");
  const [delay, setDelay] = useState("0");
  const [error, setError] = useState<unknown>(null);
  const send = useChange("queues.send", {
    invalidates: ["queues."],
    showsError: true,
    doneText: texts.sent,
    onDone: onClose,
  });
  const submit = () => {
    try {
      send.mutate({
        queue,
        message: JSON.parse(text) as JsonValue,
        delay_s: Math.max(0, Math.round(Number(delay) || 0)),
      });
      setError(null);
    } catch {
      setError(new Error(texts.invalid));
    }
  };
  return (
    <Dialog
      title={texts.sendTitle(queue)}
      isOpen
      isDismissable={false}
      onClose={onClose}
      onSubmit={submit}
      error={error ?? send.error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={send.isPending}>{texts.send}</Button>
        </>
      }
    >
      <CodeEditor
        label={texts.message}
        language="json"
        value={text}
        onChange={setText}
        minHeight="8rem"
        maxHeight="20rem"
        hasFocus
      />
      <Field label={texts.delay} type="number" value={delay} onChange={setDelay} inputMode="numeric" />
    </Dialog>
  );
}
