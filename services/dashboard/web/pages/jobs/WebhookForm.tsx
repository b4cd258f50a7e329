import { useState } from "react";
import { run } from "../../api/client.ts";
import { isStopped } from "../../api/errors.ts";
import { useChange, useOperation } from "../../api/hooks.ts";
import { CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { parsedObject } from "../../components/jsonText.ts";
import { ComboBox, Select } from "../../components/Select.tsx";
import type { WebhookCreationInput } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.webhooks;
const allEvents = ["insert", "update", "delete"] as const;

/** Creates a webhook of a table; the SQL of its trigger is shown first. */
export function WebhookForm({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [target, setTarget] = useState("");
  const [events, setEvents] = useState<readonly (typeof allEvents)[number][]>(["insert"]);
  const [url, setUrl] = useState("");
  const [method, setMethod] = useState<"GET" | "POST">("POST");
  const [headers, setHeaders] = useState('{ "Content-Type": "application/json" }');
  const [timeoutMs, setTimeoutMs] = useState("5000");
  const [error, setError] = useState<unknown>(null);
  const [planned, setPlanned] = useState<{ webhook: WebhookCreationInput; sql: string } | null>(null);
  const tables = useOperation("catalog.tables", { schema: "public" }, { staleAfter: 60_000 });
  const choices = (tables.data ?? []).filter(({ kind }) => kind.includes("table")).map((table) => ({
    id: `public.${table.name}`,
    label: `public.${table.name}`,
  }));
  const create = useChange("webhooks.create", {
    invalidates: ["webhooks."],
    showsError: true,
    doneText: texts.saved,
    onDone: onClose,
  });
  const plan = async () => {
    const sent = parsedObject(headers.trim() || "{}");
    const isText = sent !== null && Object.values(sent).every((value) => typeof value === "string");
    const [schema, table] = target.includes(".")
      ? [target.split(".")[0]!, target.slice(target.indexOf(".") + 1)]
      : ["public", target];
    const isReady = [name, table, url].every((value) => value.trim() !== "") && events.length > 0;
    if (!isText || !isReady) return setError(new Error(isText ? texts.needsAll : texts.headersInvalid));
    const webhook = {
      schema,
      table,
      name: name.trim(),
      events: [...events],
      url: url.trim(),
      method,
      headers: sent as { [name: string]: string },
      timeout_ms: Number(timeoutMs) || 5000,
    };
    try {
      setError(null);
      setPlanned({ webhook, sql: (await run("webhooks.create", { ...webhook, is_preview: true })).sql });
    } catch (reason) {
      if (!isStopped(reason)) setError(reason);
    }
  };
  return (
    <Dialog
      title={texts.createTitle}
      isOpen
      isDismissable={false}
      onClose={onClose}
      onSubmit={() => planned ? create.mutate(planned.webhook) : void plan()}
      error={create.error ?? error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={create.isPending}>
            {planned ? texts.apply : texts.showSql}
          </Button>
        </>
      }
    >
      {planned ? <CodeBlock label={texts.sql} code={planned.sql} /> : (
        <>
          <Field label={texts.name} value={name} onChange={setName} isCode hasFocus autoComplete="off" />
          <ComboBox
            key={choices.length}
            label={texts.table}
            hint={texts.tableHint}
            choices={choices}
            value={target}
            onChange={setTarget}
            allowsOther
          />
          <div className="jobs-events" role="group" aria-label={texts.events}>
            {allEvents.map((event) => (
              <Checkbox
                key={event}
                isSelected={events.includes(event)}
                onChange={(isOn) => setEvents(isOn ? [...events, event] : events.filter((other) => other !== event))}
              >
                {event}
              </Checkbox>
            ))}
          </div>
          <Field label={texts.url} type="url" value={url} onChange={setUrl} isCode />
          <Select
            label={texts.method}
            choices={[{ id: "POST", label: "POST" }, { id: "GET", label: "GET" }]}
            value={method}
            onChange={setMethod}
          />
          <CodeEditor label={texts.headers} language="json" value={headers} onChange={setHeaders} minHeight="4rem" />
          <Field label={texts.timeout} type="number" value={timeoutMs} onChange={setTimeoutMs} inputMode="numeric" />
        </>
      )}
    </Dialog>
  );
}
