import { useState } from "react";
import { useChange, useOperation } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { ComboBox, Select } from "../../components/Select.tsx";
import { texts as shared } from "../../texts.ts";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.events;
const eventsOf = {
  rows: ["insert", "update", "delete", "truncate"],
  storage: ["object_created", "object_removed", "object_updated", "bucket_created", "bucket_deleted"],
  auth: ["user_created", "user_updated", "user_deleted"],
} as const;
type Source = keyof typeof eventsOf;
const sources = Object.keys(eventsOf) as Source[];

/** Adds a webhook; `onAdded` gets the secret of its signatures. */
export function EventWebhookForm({ onClose, onAdded }: { onClose: () => void; onAdded: (secret: string) => void }) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [source, setSource] = useState<Source>("rows");
  const [table, setTable] = useState("");
  const [bucket, setBucket] = useState("");
  const [filters, setFilters] = useState("");
  const [events, setEvents] = useState<readonly string[]>([]);
  const [isOrdered, setOrdered] = useState(false);
  const tables = useOperation("catalog.tables", { schema: "public" }, { staleAfter: 60_000 });
  const choices = (tables.data ?? []).filter(({ kind }) => kind.includes("table")).map(({ name: id }) => ({
    id: `public.${id}`,
    label: `public.${id}`,
  }));
  const add = useChange("event_webhooks.add", {
    invalidates: ["event_webhooks."],
    showsError: true,
    onDone: ({ secret }) => onAdded(secret),
  });
  const isReady = name.trim() !== "" && url.trim() !== "" && (source !== "rows" || table.trim() !== "");
  const submit = () => {
    const dot = table.indexOf(".");
    const ofRows = source === "rows"
      ? {
        schema: dot < 0 ? "public" : table.slice(0, dot),
        table: table.slice(dot + 1),
        filters: filters.split("\n").map((line) => line.trim()).filter((line) => line !== ""),
      }
      : {};
    const ofStorage = source === "storage" && bucket.trim() !== "" ? { bucket: bucket.trim() } : {};
    const shared = { name: name.trim(), url: url.trim(), source, events: [...events], is_ordered: isOrdered };
    add.mutate({ ...shared, ...ofRows, ...ofStorage });
  };
  return (
    <Dialog
      title={texts.add}
      isOpen
      isDismissable={false}
      onClose={onClose}
      onSubmit={() => isReady && submit()}
      error={add.error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!isReady || add.isPending}>{texts.add}</Button>
        </>
      }
    >
      <Field label={texts.name} value={name} onChange={setName} isCode hasFocus autoComplete="off" />
      <Field label={texts.url} type="url" value={url} onChange={setUrl} isCode />
      <Select
        label={texts.source}
        choices={sources.map((id) => ({ id, label: texts.sources[id] }))}
        value={source}
        onChange={(chosen) => {
          setSource(chosen);
          setEvents([]);
        }}
      />
      {source === "rows" && (
        <>
          <ComboBox
            key={choices.length}
            label={texts.table}
            hint={texts.tableHint}
            choices={choices}
            value={table}
            onChange={setTable}
            allowsOther
          />
          <Field
            label={texts.filters}
            hint={texts.filtersHint}
            value={filters}
            onChange={setFilters}
            lines={2}
            isCode
          />
        </>
      )}
      {source === "storage" && <Field label={texts.bucket} value={bucket} onChange={setBucket} isCode />}
      <div className="jobs-events" role="group" aria-label={texts.events}>
        {eventsOf[source].map((event) => (
          <Checkbox
            key={event}
            isSelected={events.includes(event)}
            onChange={(isOn) => setEvents(isOn ? [...events, event] : events.filter((other) => other !== event))}
          >
            {event}
          </Checkbox>
        ))}
        <span className="hint">{texts.eventsHint}</span>
      </div>
      <Checkbox isSelected={isOrdered} onChange={setOrdered}>{texts.ordered}</Checkbox>
    </Dialog>
  );
}
