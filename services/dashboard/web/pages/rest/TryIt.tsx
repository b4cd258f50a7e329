import { useRef, useState } from "react";
import { type AppAnswer, askAsApp } from "../../api/gateway.ts";
import { AnswerView } from "../../components/AnswerView.tsx";
import { Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { useCaller } from "../../components/Caller.tsx";
import { callerTexts } from "../../components/callerTexts.ts";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { Field } from "../../components/Field.tsx";
import { parsedObject } from "../../components/jsonText.ts";
import { ErrorNote } from "../../components/states.tsx";
import type { RestItem } from "./openapi.ts";
import { examplesOf, functionPath, profile, tablePath } from "./requests.ts";
import { restTexts as texts } from "./texts.ts";

/** Reads a table or calls a function as the caller, and shows the answer. Rows are changed on the page Tables. */
export function TryIt({ item, schema, publishableKey }: { item: RestItem; schema: string; publishableKey: string }) {
  const caller = useCaller();
  const [query, setQuery] = useState("select=*&limit=10");
  const [body, setBody] = useState(() => item.kind === "function" ? firstBody(item, schema) : "");
  // The keys that send may come before the change of the text is rendered.
  const typed = useRef(body);
  const [answer, setAnswer] = useState<AppAnswer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isAsking, setAsking] = useState(false);
  const send = async () => {
    setAsking(true);
    setError(null);
    try {
      if (item.kind === "function" && parsedObject(typed.current) === null) throw new Error(texts.bodyInvalid);
      setAnswer(await askAsApp(requestOf(item, schema, query, typed.current), publishableKey, caller));
    } catch (reason) {
      setAnswer(null);
      setError(reason instanceof TypeError ? new Error(callerTexts.answer.offline) : reason);
    }
    setAsking(false);
  };
  return (
    <Card title={texts.tryIt}>
      <form
        className="rest-try"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        {item.kind === "table"
          ? (
            <Field
              label={texts.query}
              hint={texts.queryHint}
              value={query}
              onChange={setQuery}
              isCode
              autoComplete="off"
            />
          )
          : (
            <CodeEditor
              label={texts.body}
              language="json"
              value={body}
              onChange={(text) => {
                typed.current = text;
                setBody(text);
              }}
              onRun={() => void send()}
              minHeight="5rem"
              maxHeight="16rem"
            />
          )}
        <span>
          <Button type="submit" variant="primary" icon="send" isDisabled={isAsking}>{texts.send}</Button>
        </span>
      </form>
      <ErrorNote error={error} />
      {answer && <AnswerView answer={answer} />}
    </Card>
  );
}

function requestOf(item: RestItem, schema: string, query: string, body: string) {
  if (item.kind === "table") {
    const path = tablePath(item.name) + (query.trim() ? `?${query.trim().replace(/^\?/, "")}` : "");
    return { path, headers: profile(schema, "Accept-Profile") };
  }
  const headers = { "Content-Type": "application/json", ...profile(schema, "Content-Profile") };
  return { method: "POST", path: functionPath(item.name), headers, body };
}

function firstBody(item: RestItem, schema: string): string {
  const body = examplesOf(item, schema)[0]?.request.body ?? "{}";
  return JSON.stringify(JSON.parse(body), null, 2);
}
