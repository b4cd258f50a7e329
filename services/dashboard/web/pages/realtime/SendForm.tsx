import { useRef, useState } from "react";
import { Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { Field } from "../../components/Field.tsx";
import { parsedObject } from "../../components/jsonText.ts";
import { ErrorNote } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import { realtimeTexts } from "./texts.ts";

const texts = realtimeTexts.send;

/** Sends a broadcast into the channel, as the caller. */
export function SendForm({ onSend }: {
  onSend: (event: string, payload: { [name: string]: unknown }) => Promise<string>;
}) {
  const [event, setEvent] = useState("message");
  const [payload, setPayload] = useState('{ "text": "Hello" }');
  // The keys that send may come before the change of the text is rendered.
  const typed = useRef(payload);
  const [error, setError] = useState<unknown>(null);
  const send = async () => {
    const content = parsedObject(typed.current);
    setError(content === null ? new Error(texts.invalid) : null);
    if (content === null) return;
    const answer = await onSend(event, content);
    if (answer === "ok") toast.done(texts.sent);
    else setError(new Error(texts.refused(answer)));
  };
  return (
    <Card title={texts.title}>
      <form
        className="realtime-form"
        onSubmit={(submitted) => {
          submitted.preventDefault();
          void send();
        }}
      >
        <Field label={texts.event} value={event} onChange={setEvent} isCode isRequired />
        <CodeEditor
          label={texts.payload}
          language="json"
          value={payload}
          onChange={(text) => {
            typed.current = text;
            setPayload(text);
          }}
          onRun={() => void send()}
          minHeight="4rem"
          maxHeight="10rem"
        />
        <ErrorNote error={error} />
        <span>
          <Button type="submit" icon="send">{texts.action}</Button>
        </span>
      </form>
    </Card>
  );
}
