/** A channel of realtime as an application joins it: with the client library of applications, and the caller's token. */

import { RealtimeChannel, RealtimeClient } from "@supabase/realtime-js";
import { useEffect, useRef, useState } from "react";
import { gatewayUrl } from "../../api/address.ts";
import type { AppCaller } from "../../api/gateway.ts";

export type EventKind = "change" | "broadcast" | "presence" | "system";

export interface ChannelEvent {
  id: number;
  /** Milliseconds since 1970. */
  at: number;
  kind: EventKind;
  title: string;
  content: unknown;
}

export interface JoinOptions {
  topic: string;
  isPrivate: boolean;
  /** Null: no row changes. */
  changes: { schema: string; table: string; event: "*" | "INSERT" | "UPDATE" | "DELETE"; filter: string } | null;
}

export interface Joined {
  status: "left" | "joining" | "joined" | "failed";
  /** Why the channel was refused. */
  reason: string;
  events: readonly ChannelEvent[];
  present: { readonly [key: string]: readonly unknown[] };
}

export const mostEvents = 500;
const nothing: Joined = { status: "left", reason: "", events: [], present: {} };

/** Return a channel that can be joined, left and sent to. It is left with the page, or when the caller changes. */
export function useChannel(key: string, caller: AppCaller) {
  const [state, setState] = useState<Joined>(nothing);
  const open = useRef<{ client: RealtimeClient; channel: RealtimeChannel } | null>(null);
  const count = useRef(0);

  const leave = () => {
    const { client, channel } = open.current ?? {};
    open.current = null;
    setState((before) => ({ ...before, status: "left", present: {} }));
    if (channel) void client?.removeChannel(channel).finally(() => void client.disconnect());
  };
  const join = async (options: JoinOptions) => {
    leave();
    setState({ ...nothing, status: "joining" });
    const client = new RealtimeClient(`${gatewayUrl.replace(/^http/, "ws")}/realtime/v1`, {
      params: { apikey: key },
    });
    const channel = client.channel(options.topic, {
      config: { private: options.isPrivate, broadcast: { self: true, ack: true } },
    });
    open.current = { client, channel };
    const add = (kind: EventKind, title: string, content: unknown) => {
      count.current += 1;
      const event = { id: count.current, at: Date.now(), kind, title, content };
      setState((before) => ({ ...before, events: [event, ...before.events].slice(0, mostEvents) }));
    };
    listen(channel, options, add, (present) => setState((before) => ({ ...before, present })));
    if (caller) await client.setAuth(caller.token);
    channel.subscribe((status, error) => {
      if (open.current?.channel !== channel) return;
      if (status === "SUBSCRIBED") return setState((before) => ({ ...before, status: "joined", reason: "" }));
      if (status === "CLOSED") return setState((before) => ({ ...before, status: "left", present: {} }));
      // The library would try again for ever; a refused channel stays refused until a policy or the caller changes.
      leave();
      setState((before) => ({ ...before, status: "failed", reason: error?.message ?? status }));
    });
  };
  useEffect(() => leave, [caller]);

  return {
    ...state,
    join,
    leave,
    clear: () => setState((before) => ({ ...before, events: [] })),
    /** Send a broadcast; resolves to what the server answered. */
    send: (event: string, payload: { [name: string]: unknown }): Promise<string> =>
      open.current?.channel.send({ type: "broadcast", event, payload }) ?? Promise.resolve("left"),
    /** Become present; resolves to what the server answered. */
    track: (): Promise<string> =>
      open.current?.channel.track({ from: "dashboard", at: new Date().toISOString() }) ?? Promise.resolve("left"),
    untrack: () => void open.current?.channel.untrack(),
  };
}

type Add = (kind: EventKind, title: string, content: unknown) => void;

function listen(
  channel: RealtimeChannel,
  { changes }: JoinOptions,
  add: Add,
  setPresent: (present: Joined["present"]) => void,
): void {
  channel.on("broadcast", { event: "*" }, (message) => add("broadcast", String(message["event"]), message["payload"]));
  channel.on("presence", { event: "sync" }, () => setPresent({ ...channel.presenceState() }));
  channel.on("presence", { event: "join" }, ({ key, newPresences }) => add("presence", `join ${key}`, newPresences));
  channel.on(
    "presence",
    { event: "leave" },
    ({ key, leftPresences }) => add("presence", `leave ${key}`, leftPresences),
  );
  channel.on(
    "system",
    {},
    (message: { status?: string; message?: string }) => add("system", message.status ?? "", message.message ?? message),
  );
  if (!changes) return;
  const { schema, table, event, filter } = changes;
  const wanted = { event, schema, ...(table === "*" ? {} : { table }), ...(filter ? { filter } : {}) };
  channel.on(
    "postgres_changes" as never,
    wanted as never,
    (change: { eventType: string; schema: string; table: string }) =>
      add("change", `${change.eventType} ${change.schema}.${change.table}`, change),
  );
}
