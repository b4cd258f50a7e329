/** Schema: what the database is made of, changed by SQL that is shown first and saved as a migration. */

import { lazy, Suspense } from "react";
import { pathOf, useGo, useSubpath } from "../../address.tsx";
import { PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { NoSchema, SchemaChooser, useIsUnknownSchema } from "../../components/SchemaChooser.tsx";
import { Loading } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import { ChangeFlowProvider, useChangeFlow } from "./changeFlow.tsx";
import { createSchema } from "./forms.ts";
import { schemaTexts as texts } from "./texts.ts";
import "./schema.css";

const parts = {
  tables: lazy(() => import("./Relations.tsx")),
  types: lazy(() => import("./Types.tsx")),
  functions: lazy(() => import("./Routines.tsx")),
  sequences: lazy(() => import("./Sequences.tsx")),
  extensions: lazy(() => import("./Extensions.tsx")),
  publications: lazy(() => import("./Publications.tsx")),
  diagram: lazy(() => import("./diagram/Diagram.tsx")),
  migrations: lazy(() => import("./Migrations.tsx")),
};
type Part = keyof typeof parts;
const ids = Object.keys(parts) as Part[];
const withoutSchema: readonly Part[] = ["extensions", "publications", "migrations"];

/** What a part gets: the schema it shows, and the object that is open. */
export interface PartProps {
  schema: string;
  open: string | undefined;
}

export default function SchemaPage() {
  const [first, schema = "public", open] = useSubpath();
  const part = ids.find((id) => id === first) ?? "tables";
  const go = useGo();
  const isUnknown = useIsUnknownSchema(schema);
  return (
    <ChangeFlowProvider key={schema} schema={schema}>
      <PageHeader
        title={texts.title}
        actions={!withoutSchema.includes(part) && <SchemaActions part={part} schema={schema} />}
      />
      <Tabs
        label={texts.title}
        selected={part}
        onSelect={(id) => go(withoutSchema.includes(id as Part) ? `schema/${id}` : pathOf("schema", id, schema))}
        tabs={ids.map((id) => {
          const Content = parts[id];
          return {
            id,
            title: texts.tabs[id],
            content: isUnknown && !withoutSchema.includes(id)
              ? <NoSchema name={schema} to="schema" />
              : (
                <Suspense fallback={<Loading />}>
                  <Content schema={schema} open={open} />
                </Suspense>
              ),
          };
        })}
      />
    </ChangeFlowProvider>
  );
}

function SchemaActions({ part, schema }: { part: Part; schema: string }) {
  const go = useGo();
  const { ask, show, mayChange } = useChangeFlow();
  const isUnknown = useIsUnknownSchema(schema);
  return (
    <>
      <SchemaChooser value={schema} onChange={(chosen) => go(pathOf("schema", part, chosen))} />
      {mayChange && <Button icon="plus" onPress={() => ask(createSchema)}>{texts.createSchema}</Button>}
      {mayChange && !isUnknown && schema !== "public" && (
        <Button
          icon="trash"
          onPress={() =>
            show(
              {
                title: texts.forms.drop(schema),
                name: `drop_schema_${schema}`,
                changes: [{ change: "drop_schema", schema, cascade: true }],
                typeName: schema,
              },
              () => go("schema"),
            )}
        >
          {texts.dropSchema}
        </Button>
      )}
    </>
  );
}
