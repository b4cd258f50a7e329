import { useState } from "react";
import { Link, pathOf } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { AnswerView } from "../../components/AnswerView.tsx";
import { Card, CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { ErrorNote, QueryView } from "../../components/states.tsx";
import { UserDialog } from "../../components/UserDialog.tsx";
import type { FunctionReply, ProjectUserSummary } from "../../generated/operations.ts";
import { KeptRequests } from "./KeptRequests.tsx";
import { LineRows } from "./Lines.tsx";
import { functionsTexts as texts } from "./texts.ts";

const methods = (["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const).map((id) => ({
  id,
  label: id,
}));
const callers = (["anon", "user", "service"] as const).map((id) => ({ id, label: texts.callers[id] }));

/** Call the running version: as whom, with what, and what came of it. */
export function Run({ name }: { name: string }) {
  const [method, setMethod] = useState<typeof methods[number]["id"]>("POST");
  const [path, setPath] = useState("/");
  const [headers, setHeaders] = useState("content-type: application/json");
  const [body, setBody] = useState('{ "name": "world" }');
  const [caller, setCaller] = useState<typeof callers[number]["id"]>("anon");
  const [user, setUser] = useState<ProjectUserSummary | null>(null);
  const [isChoosing, setChoosing] = useState(false);
  const call = useChange("functions.invoke", { invalidates: ["functions.list"], showsError: true });
  const mayInvoke = useMay("functions.invoke");
  const parsed = parseHeaders(headers);
  const isReady = parsed !== null && (caller !== "user" || user !== null);
  const hasBody = method !== "GET" && method !== "HEAD";
  const run = () => {
    if (!isReady) return;
    const user_id = caller === "user" ? user?.id ?? "" : "";
    call.mutate({ name, method, path, headers: parsed, body: hasBody ? body : "", caller, user_id });
  };
  return (
    <div className="functions-run">
      {mayInvoke && (
        <Card title={texts.run}>
          <form
            className="functions-form"
            onSubmit={(event) => {
              event.preventDefault();
              run();
            }}
            onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && run()}
          >
            <p className="hint">{texts.runHint}</p>
            <KeptRequests
              name={name}
              present={parsed && { method, path, headers: parsed, body: hasBody ? body : "", caller }}
              onChoose={(request) => {
                setMethod(methods.find(({ id }) => id === request.method)?.id ?? "POST");
                setPath(request.path);
                setHeaders(Object.entries(request.headers).map(([header, value]) => `${header}: ${value}`).join("\n"));
                setBody(request.body);
                setCaller(request.caller);
              }}
            />
            <div className="functions-pair">
              <Select label={texts.method} choices={methods} value={method} onChange={setMethod} />
              <Field label={texts.runPath} value={path} onChange={setPath} isCode />
            </div>
            <Select label={texts.caller} choices={callers} value={caller} onChange={setCaller} />
            {caller === "user" && (
              <div>
                <Button icon="user" onPress={() => setChoosing(true)}>
                  {user ? `${texts.user}: ${user.email ?? user.phone ?? user.id}` : texts.chooseUser}
                </Button>
              </div>
            )}
            <Field
              label={texts.headers}
              value={headers}
              onChange={setHeaders}
              lines={2}
              hint={texts.headersHint}
              error={parsed === null ? texts.badHeaders : undefined}
              isCode
            />
            {hasBody && <Field label={texts.body} value={body} onChange={setBody} lines={6} isCode />}
            <div>
              <Button type="submit" variant="primary" icon="play" isDisabled={!isReady || call.isPending}>
                {texts.run}
              </Button>
            </div>
            <ErrorNote error={call.error} />
          </form>
          {call.data && <Reply key={call.data.request_id} name={name} reply={call.data} />}
        </Card>
      )}
      <Elsewhere name={name} />
      {isChoosing && (
        <UserDialog
          title={texts.chooseUser}
          text={texts.userText}
          onChoose={(chosen) => {
            setUser(chosen);
            setChoosing(false);
          }}
          onClose={() => setChoosing(false)}
        />
      )}
    </div>
  );
}

function parseHeaders(text: string): { [name: string]: string } | null {
  const pairs = text.split("\n").filter((line) => line.trim()).map((line) => /^([^:\s]+):\s*(.*)$/.exec(line.trim()));
  if (pairs.some((pair) => pair === null)) return null;
  return Object.fromEntries(pairs.map((pair) => [pair![1]!, pair![2]!]));
}

function Reply({ name, reply }: { name: string; reply: FunctionReply }) {
  const lines = useOperation("functions.logs", { name, request_id: reply.request_id }, { refreshEvery: 2_000 });
  return (
    <div className="functions-form functions-reply">
      <AnswerView
        answer={{
          status: reply.status,
          headers: reply.headers.map(([header, value]) => [header, value] as const),
          text: reply.body ?? reply.body_base64 ?? "",
          isCut: reply.is_cut,
          ms: reply.duration_ms,
        }}
      />
      <h3>{texts.lines}</h3>
      <QueryView
        query={lines}
        isEmpty={(data) => data.lines.length === 0}
        empty={<p className="soft">{texts.noLines}</p>}
      >
        {(data) => <LineRows label={texts.lines} lines={data.lines} />}
      </QueryView>
      <Link to={pathOf("logs", "request", reply.request_id)}>{texts.wholeRequest}</Link>
    </div>
  );
}

function Elsewhere({ name }: { name: string }) {
  const addresses = useOperation("platform.snippets", {}, { staleAfter: 60_000 });
  return (
    <Card title={texts.elsewhere}>
      <QueryView query={addresses}>
        {({ functions_url: url, publishable_key: key }) => {
          const address = `${url.replace(/\/$/, "")}/${name}`;
          return (
            <div className="functions-form">
              <CodeBlock label={texts.address} code={address} />
              <CodeBlock
                label="curl"
                code={`curl -X POST "${address}" \\\n  -H "apikey: ${key}" \\\n  -H "content-type: application/json" \\\n  -d '{"name": "world"}'`}
              />
              <CodeBlock
                label="JavaScript"
                code={`const { data, error } = await supabase.functions.invoke("${name}", {\n  body: { name: "world" },\n})`}
              />
            </div>
          );
        }}
      </QueryView>
    </Card>
  );
}
