/** GraphQL: an editor that knows the caller's schema, the answer, documentation of the types, queries run before. */

import { graphql } from "cm6-graphql";
import { useEffect, useMemo, useRef, useState } from "react";
import { useSearch } from "../../address.tsx";
import type { AppAnswer } from "../../api/gateway.ts";
import { useOperation } from "../../api/hooks.ts";
import { AnswerView } from "../../components/AnswerView.tsx";
import { PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CallerMenu, useCaller } from "../../components/Caller.tsx";
import { callerTexts } from "../../components/callerTexts.ts";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, ErrorNote, QueryView } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import { useCommands } from "../../shell/commands.ts";
import { Documentation } from "./Documentation.tsx";
import { operationsOf, parsedVariables } from "./operations.ts";
import { PastQueries } from "./PastQueries.tsx";
import { usePastQueries } from "./pastQueries.ts";
import { askGraphql, useSchema } from "./schema.ts";
import { graphqlTexts as texts } from "./texts.ts";
import "./graphql.css";

/** Longest query that stands in the address, in characters. */
const mostInAddress = 4_000;

export default function GraphqlPage() {
  const [search, changeSearch] = useSearch();
  const caller = useCaller();
  const addresses = useOperation("platform.snippets", {}, { staleAfter: 600_000 });
  const key = addresses.data?.publishable_key;
  const schema = useSchema(key, caller);
  const { past, note, clear } = usePastQueries();
  const [query, setQuery] = useState(search["query"] ?? past[0]?.query ?? texts.example);
  const [variables, setVariables] = useState(search["variables"] ?? "");
  const [operation, setOperation] = useState<string | null>(null);
  const [answer, setAnswer] = useState<AppAnswer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isAsking, setAsking] = useState(false);
  // The keys that run may come before the change of a text is rendered.
  const typed = useRef({ query, variables });
  typed.current = { query, variables };
  const support = useMemo(() => graphql(schema.data), [schema.data]);
  const operations = useMemo(() => operationsOf(query), [query]);
  const chosen = operations.find((name) => name === operation) ?? operations[0];

  const run = async () => {
    if (key === undefined) return;
    const asked = typed.current;
    setAsking(true);
    setError(null);
    try {
      const values = parsedVariables(asked.variables, texts.variablesInvalid);
      const names = operationsOf(asked.query);
      const request = {
        query: asked.query,
        ...(values ? { variables: values } : {}),
        ...(names.length > 1 && chosen ? { operationName: chosen } : {}),
      };
      changeSearch({
        part: null,
        query: asked.query.length <= mostInAddress ? asked.query : null,
        variables: asked.variables.length <= mostInAddress ? asked.variables : null,
      });
      setAnswer(await askGraphql(request, key, caller));
      note(asked.query, asked.variables);
    } catch (reason) {
      setAnswer(null);
      setError(reason instanceof TypeError ? new Error(callerTexts.answer.offline) : reason);
    }
    setAsking(false);
  };
  useCommands([{ id: "graphql.run", label: texts.run, keys: "Ctrl-Enter", run: () => void run() }]);
  useEffect(() => setAnswer(null), [caller]);

  return (
    <div className="fill graphql">
      <PageHeader
        title={texts.title}
        actions={
          <>
            {operations.length > 1 && (
              <Select
                label={texts.operation}
                hidesLabel
                choices={operations.map((name) => ({ id: name, label: name }))}
                value={chosen ?? null}
                onChange={setOperation}
              />
            )}
            <CallerMenu />
            <Button variant="primary" icon="play" isDisabled={isAsking} onPress={() => void run()}>{texts.run}</Button>
          </>
        }
      />
      <div className="graphql-halves">
        <div className="graphql-editors">
          <CodeEditor
            label={texts.query}
            language="text"
            support={support}
            value={query}
            onChange={(text) => {
              typed.current.query = text;
              setQuery(text);
            }}
            onRun={() => void run()}
            minHeight="12rem"
            hasFocus
          />
          <h2 className="graphql-kind">{texts.variables}</h2>
          <CodeEditor
            label={texts.variables}
            language="json"
            value={variables}
            onChange={(text) => {
              typed.current.variables = text;
              setVariables(text);
            }}
            onRun={() => void run()}
            minHeight="5rem"
            maxHeight="10rem"
          />
        </div>
        <div className="graphql-parts">
          <Tabs
            label={texts.parts}
            selected={search["part"] ?? "answer"}
            onSelect={(part) => changeSearch({ part: part === "answer" ? null : part })}
            tabs={[
              {
                id: "answer",
                title: texts.answer,
                content: (
                  <>
                    <ErrorNote error={error} />
                    {answer
                      ? <AnswerView answer={answer} depth={12} />
                      : !error && <EmptyState icon="graph" title={texts.nothing}>{texts.nothingText}</EmptyState>}
                  </>
                ),
              },
              {
                id: "docs",
                title: texts.docs,
                content: (
                  <QueryView query={schema}>
                    {(known) => (
                      <Documentation
                        schema={known}
                        typeName={search["type"]}
                        onOpen={(type) => changeSearch({ type }, false)}
                      />
                    )}
                  </QueryView>
                ),
              },
              {
                id: "history",
                title: texts.history,
                content: (
                  <PastQueries
                    past={past}
                    onClear={clear}
                    onOpen={(query) => {
                      setQuery(query.query);
                      setVariables(query.variables);
                    }}
                  />
                ),
              },
            ]}
          />
        </div>
      </div>
    </div>
  );
}
