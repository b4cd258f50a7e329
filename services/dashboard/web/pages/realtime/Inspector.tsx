import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { useCaller } from "../../components/Caller.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { Note, QueryView } from "../../components/states.tsx";
import { type JoinOptions, useChannel } from "./channel.ts";
import { EventList } from "./EventList.tsx";
import { Presence } from "./Presence.tsx";
import { SendForm } from "./SendForm.tsx";
import { realtimeTexts as texts } from "./texts.ts";

const tones = { left: "neutral", joining: "neutral", joined: "good", failed: "bad" } as const;
const events = Object.entries(texts.join.events).map(([id, label]) => ({ id, label }));

/** Joins a channel as the caller and shows what arrives. What to join stands in the address. */
export function Inspector() {
  const addresses = useOperation("platform.snippets", {}, { staleAfter: 600_000 });
  return <QueryView query={addresses}>{(data) => <Channel publishableKey={data.publishable_key} />}</QueryView>;
}

function Channel({ publishableKey }: { publishableKey: string }) {
  const caller = useCaller();
  const channel = useChannel(publishableKey, caller);
  const [search, changeSearch] = useSearch();
  const options = optionsOf(search);
  const isOpen = channel.status === "joined" || channel.status === "joining";
  const table = search["table"] ?? "";
  return (
    <div className="realtime-halves">
      <div className="realtime-forms">
        <Card
          title={texts.join.title}
          actions={<Badge tone={tones[channel.status]}>{texts.status[channel.status]}</Badge>}
        >
          <form
            className="realtime-form"
            onSubmit={(event) => {
              event.preventDefault();
              if (isOpen) channel.leave();
              else void channel.join(options);
            }}
          >
            <p className="soft">{texts.join.lead}</p>
            <Field
              label={texts.join.topic}
              hint={texts.join.topicHint}
              value={options.topic}
              onChange={(topic) => changeSearch({ topic })}
              isDisabled={isOpen}
              isCode
            />
            <Checkbox
              isSelected={options.isPrivate}
              onChange={(isPrivate) => changeSearch({ private: isPrivate ? "yes" : null })}
              isDisabled={isOpen}
            >
              {texts.join.isPrivate}
            </Checkbox>
            <div className="realtime-changes">
              <Field
                label={texts.join.schema}
                value={search["schema"] ?? "public"}
                onChange={(schema) => changeSearch({ schema })}
                isDisabled={isOpen}
                isCode
              />
              <Field
                label={texts.join.changes}
                value={table}
                onChange={(name) => changeSearch({ table: name })}
                isDisabled={isOpen}
                isCode
              />
              <Select
                label={texts.join.event}
                choices={events}
                value={search["event"] ?? "*"}
                onChange={(event) => changeSearch({ event: event === "*" ? null : event })}
                isDisabled={isOpen || table === ""}
              />
              <Field
                label={texts.join.filter}
                hint={texts.join.filterHint}
                value={search["filter"] ?? ""}
                onChange={(filter) => changeSearch({ filter })}
                isDisabled={isOpen || table === ""}
                isCode
              />
            </div>
            <p className="hint">{texts.join.changesHint}</p>
            {channel.status === "failed" && (
              <Note kind="warn">
                <p>{channel.reason}</p>
                <p>{texts.failedHint}</p>
              </Note>
            )}
            <span>
              <Button type="submit" variant={isOpen ? "plain" : "primary"} icon={isOpen ? "stop" : "radio"}>
                {isOpen ? texts.join.leave : texts.join.action}
              </Button>
            </span>
          </form>
        </Card>
        {channel.status === "joined" && (
          <>
            <SendForm onSend={channel.send} />
            <Presence present={channel.present} onTrack={channel.track} onUntrack={channel.untrack} />
          </>
        )}
      </div>
      <EventList events={channel.events} onClear={channel.clear} />
    </div>
  );
}

function optionsOf(search: { readonly [name: string]: string }): JoinOptions {
  const table = search["table"]?.trim() ?? "";
  return {
    topic: search["topic"] ?? "room",
    isPrivate: search["private"] === "yes",
    changes: table === "" ? null : {
      schema: search["schema"] ?? "public",
      table,
      event: (events.find(({ id }) => id === search["event"])?.id ?? "*") as "*",
      filter: search["filter"]?.trim() ?? "",
    },
  };
}
