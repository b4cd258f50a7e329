/** The conversation with the model: kept in this browser alone, sent whole with each question. */

import { useRef, useState } from "react";
import { exchange, linesOf } from "../../api/client.ts";
import { errorOf, isStopped } from "../../api/errors.ts";
import { useKept } from "../../components/kept.ts";

export interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

export interface Message {
  role: "user" | "assistant" | "tool";
  content: string;
  tool_calls?: readonly ToolCall[];
  tool_call_id?: string;
}

/** A call of a tool and how it ended, as the page shows it. */
export interface ToolNote {
  name: string;
  arguments: string;
  outcome: string;
}

type Event =
  | { kind: "text"; text: string }
  | ({ kind: "tool"; id: string } & ToolNote)
  | { kind: "ask" }
  | { kind: "error"; message: string }
  | { kind: "end"; messages: readonly Message[] };

/** What a turn has brought so far, before its messages are part of the conversation. */
export interface PresentTurn {
  text: string;
  tools: readonly ToolNote[];
}

const mostKept = 200;

/** Return the calls at the end of a conversation that wait for the administrator. */
export function waitingCalls(messages: readonly Message[]): readonly ToolCall[] {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const answered = new Set(messages.slice(last + 1).map(({ tool_call_id }) => tool_call_id));
  return (messages[last]?.tool_calls ?? []).filter(({ id }) => !answered.has(id));
}

/** Return the conversation, what is going on, and what asks, agrees, stops and forgets. */
export function useConversation() {
  const [messages, change] = useKept<readonly Message[]>("assistant", () => []);
  const [present, setPresent] = useState<PresentTurn | null>(null);
  const [error, setError] = useState<unknown>(null);
  const stopper = useRef<AbortController | null>(null);

  const turn = async (sent: readonly Message[], approved: readonly string[]) => {
    const stop = stopper.current = new AbortController();
    let shown: PresentTurn = { text: "", tools: [] };
    setError(null);
    setPresent(shown);
    try {
      const body = JSON.stringify({ messages: sent, approved });
      const response = await exchange("/assistant", body, { signal: stop.signal });
      if (!response.ok) throw await errorOf(response);
      for await (const line of linesOf(response)) {
        const event = line as Event;
        if (event.kind === "text") shown = { ...shown, text: shown.text + event.text };
        else if (event.kind === "tool") shown = { text: "", tools: [...shown.tools, event] };
        else if (event.kind === "error") setError(new Error(event.message));
        else if (event.kind === "end") change((before) => [...before, ...event.messages].slice(-mostKept));
        setPresent(shown);
      }
    } catch (failure) {
      if (!isStopped(failure)) setError(failure);
      // What had come before it was stopped stays in the conversation.
      else if (shown.text) change((before) => [...before, { role: "assistant", content: shown.text }]);
    } finally {
      setPresent(null);
    }
  };
  const ask = (content: string) => {
    const question: Message = { role: "user", content };
    // Calls that nobody agreed to are answered as declined, or the model's service refuses the conversation.
    const declined = waitingCalls(messages).map(({ id }): Message => ({
      role: "tool",
      content: "The administrator did not let this run.",
      tool_call_id: id,
    }));
    const all = [...messages, ...declined, question];
    change(() => all);
    void turn(all, []);
  };
  return {
    messages,
    present,
    error,
    ask,
    answerCalls: (approved: readonly string[]) => void turn(messages, approved),
    stop: () => stopper.current?.abort(),
    clear: () => {
      setError(null);
      change(() => []);
    },
  };
}
