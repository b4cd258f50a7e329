import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useMe, useOperation } from "../../api/hooks.ts";
import { CodeBlock, PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { useKept } from "../../components/kept.ts";
import { EmptyState, ErrorNote, Loading, Note, QueryView } from "../../components/states.tsx";
import type { SettingsList } from "../../generated/operations.ts";
import SettingsForm from "../auth/SettingsForm.tsx";
import { Answer } from "./Answer.tsx";
import { type Message, type ToolCall, type ToolNote, useConversation, waitingCalls } from "./conversation.ts";
import { assistantTexts as texts } from "./texts.ts";
import "./assistant.css";

const group = { id: "assistant", keys: ["assistant."] };

/** The assistant: a conversation with the operator's model, or how it is switched on. */
export default function AssistantPage() {
  const settings = useOperation("settings.list", { prefix: "assistant." });
  const [isOpen, setOpen] = useState(false);
  const { rights } = useMe();
  const isOwner = rights === "owner";
  const setUp = <Button icon="settings" onPress={() => setOpen(true)}>{texts.settings}</Button>;
  return (
    <QueryView query={settings}>
      {(data) => (
        <>
          {valueOf(data, "enabled") === true ? <Conversation data={data} actions={isOwner && setUp} /> : (
            <>
              <PageHeader title={texts.title} />
              <EmptyState icon="bolt" title={texts.off} action={isOwner && setUp}>
                <p>{texts.offText}</p>
                {!isOwner && <p>{texts.offOthers}</p>}
              </EmptyState>
            </>
          )}
          {isOpen && (
            <SettingsForm
              title={texts.title}
              data={data}
              group={group}
              test={null}
              onClose={() => setOpen(false)}
            />
          )}
        </>
      )}
    </QueryView>
  );
}

function Conversation({ data, actions }: { data: SettingsList; actions: React.ReactNode }) {
  const { messages, present, error, ask, answerCalls, stop, clear } = useConversation();
  const [draft, setDraft] = useKept("assistant:draft", () => "");
  const end = useRef<HTMLDivElement>(null);
  const waiting = present ? [] : waitingCalls(messages);
  useEffect(() => {
    end.current?.scrollIntoView({ block: "nearest" });
  }, [messages, present]);
  const send = () => {
    if (present || !draft.trim()) return;
    ask(draft.trim());
    setDraft(() => "");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      send();
    }
  };
  const onClear = async () => {
    if (await confirm({ title: texts.clearTitle, body: texts.clearText, action: texts.clear })) clear();
  };
  return (
    <>
      <PageHeader
        title={texts.title}
        actions={
          <>
            {messages.length > 0 && (
              <Button icon="plus" isDisabled={present !== null} onPress={() => void onClear()}>{texts.clear}</Button>
            )}
            {actions}
          </>
        }
      >
        {texts.sent(hostOf(String(valueOf(data, "url"))), String(valueOf(data, "model")))}{" "}
        {valueOf(data, "sends_rows") === true ? texts.withRows : texts.noRows} {texts.kept}
      </PageHeader>
      <div className="assistant" role="log" aria-label={texts.conversation} aria-busy={present !== null}>
        {messages.length === 0 && <EmptyState icon="bolt" title={texts.empty}>{texts.emptyText}</EmptyState>}
        {messages.map((message, index) => (
          <Entry key={index} message={message} results={resultsAfter(messages, index)} />
        ))}
        {present && (
          <article className="assistant-entry" aria-label={texts.model}>
            <h2>{texts.model}</h2>
            {present.tools.map((note, index) => <Tool key={index} note={note} />)}
            <Answer text={present.text} />
            <Loading label={texts.thinking} />
          </article>
        )}
        {waiting.length > 0 && <Waiting calls={waiting} onAnswer={answerCalls} />}
        <ErrorNote error={error} />
        <div ref={end} />
      </div>
      <div className="assistant-question" onKeyDown={onKeyDown}>
        <Field
          label={texts.question}
          hint={texts.questionHint}
          lines={3}
          value={draft}
          onChange={(value) =>
            setDraft(() => value)}
          hasFocus
        />
        {present
          ? <Button icon="stop" onPress={stop}>{texts.stop}</Button>
          : <Button variant="primary" icon="send" isDisabled={!draft.trim()} onPress={send}>{texts.send}</Button>}
      </div>
    </>
  );
}

function Entry({ message, results }: { message: Message; results: readonly Message[] }) {
  if (message.role === "tool") return null;
  const isUser = message.role === "user";
  const answered = (call: ToolCall) => results.find(({ tool_call_id }) => tool_call_id === call.id);
  return (
    <article className={`assistant-entry${isUser ? " is-user" : ""}`} aria-label={isUser ? texts.you : texts.model}>
      <h2>{isUser ? texts.you : texts.model}</h2>
      <Answer text={message.content} />
      {message.tool_calls?.filter(answered).map((call) => (
        <Tool key={call.id} note={{ ...call.function, outcome: outcomeOf(answered(call)?.content ?? "") }} />
      ))}
    </article>
  );
}

/** The results that follow a message: ids of calls need not differ in a whole conversation. */
function resultsAfter(messages: readonly Message[], index: number): readonly Message[] {
  const next = messages.findIndex(({ role }, place) => place > index && role !== "tool");
  return messages.slice(index + 1, next < 0 ? undefined : next);
}

/** A tool that was called; its arguments fold out. */
function Tool({ note }: { note: ToolNote }) {
  return (
    <details className="assistant-tool">
      <summary>{texts.tool(note.name, note.outcome)}</summary>
      <pre className="code">{note.arguments}</pre>
    </details>
  );
}

/** SQL that the model wants to run: shown whole, run only after the administrator agreed. */
function Waiting({ calls, onAnswer }: { calls: readonly ToolCall[]; onAnswer: (approved: readonly string[]) => void }) {
  return (
    <section className="assistant-entry" aria-label={texts.asks}>
      <Note kind="warn">
        <p>{texts.asks}</p>
        <p>{texts.asksText}</p>
      </Note>
      {calls.map((call) => <CodeBlock key={call.id} label={texts.asks} code={sqlOf(call)} />)}
      <div className="assistant-actions">
        <Button onPress={() => onAnswer([])}>{texts.decline}</Button>
        <Button variant="primary" icon="play" onPress={() => onAnswer(calls.map(({ id }) => id))}>{texts.run}</Button>
      </div>
    </section>
  );
}

function sqlOf({ function: { name, arguments: text } }: ToolCall): string {
  try {
    const { query, analyze } = JSON.parse(text) as { query?: unknown; analyze?: unknown };
    const lead = name === "explain" ? `explain${analyze ? " analyze" : ""} ` : "";
    if (typeof query === "string") return lead + query;
  } catch {
    // Shown as the model wrote it.
  }
  return `${name} ${text}`;
}

function outcomeOf(result: string): string {
  if (result.startsWith("The administrator did not")) return "declined";
  if (result.startsWith("There is no tool")) return "refused";
  return result.startsWith("The call failed") ? "failed" : "done";
}

function valueOf({ settings }: SettingsList, name: string) {
  return settings.find(({ key }) => key === `assistant.${name}`)?.value;
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}
