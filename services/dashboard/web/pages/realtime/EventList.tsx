import { useState } from "react";
import { Badge, Card, JsonView } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState } from "../../components/states.tsx";
import { type ChannelEvent, type EventKind, mostEvents } from "./channel.ts";
import { realtimeTexts } from "./texts.ts";

const texts = realtimeTexts.events;
const kinds = Object.entries(texts.kinds).map(([id, label]) => ({ id, label }));
const tones = { change: "accent", broadcast: "good", presence: "neutral", system: "neutral" } as const;
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** What arrived, newest first; it can be stopped to be read, and filtered by kind. */
export function EventList({ events, onClear }: { events: readonly ChannelEvent[]; onClear: () => void }) {
  const [kind, setKind] = useState<string>("all");
  const [held, setHeld] = useState<readonly ChannelEvent[] | null>(null);
  const newest = held?.[0]?.id ?? 0;
  const waiting = held === null ? 0 : events.filter(({ id }) => id > newest).length;
  const shown = (held ?? events).filter((event) => kind === "all" || event.kind === kind as EventKind);
  return (
    <Card
      title={texts.title}
      isFlush
      actions={
        <>
          {held !== null && waiting > 0 && <span className="soft" role="status">{texts.paused(waiting)}</span>}
          <Select label={texts.kind} hidesLabel size="small" choices={kinds} value={kind} onChange={setKind} />
          <Button size="small" icon={held ? "play" : "pause"} onPress={() => setHeld(held ? null : events)}>
            {held ? texts.goOn : texts.pause}
          </Button>
          <Button
            size="small"
            icon="trash"
            onPress={() => {
              setHeld(null);
              onClear();
            }}
          >
            {texts.clear}
          </Button>
        </>
      }
    >
      {shown.length === 0
        ? <EmptyState icon="radio" title={texts.none}>{texts.noneText}</EmptyState>
        : (
          <ol className="realtime-events" aria-label={texts.title}>
            {shown.map((event) => (
              <li key={event.id}>
                <div className="realtime-event">
                  <time className="soft number" dateTime={new Date(event.at).toISOString()}>
                    {clock.format(event.at)}
                  </time>
                  <Badge tone={tones[event.kind]}>{event.kind}</Badge>
                  <code className="cut">{event.title}</code>
                </div>
                <JsonView value={event.content} label={texts.details} depth={1} />
              </li>
            ))}
          </ol>
        )}
      {events.length >= mostEvents && <p className="hint realtime-cut">{texts.cut(mostEvents)}</p>}
    </Card>
  );
}
