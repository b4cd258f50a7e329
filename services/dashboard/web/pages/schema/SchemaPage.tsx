/** Schema: what the database is made of, changed by SQL that is shown first and saved as a migration. */

import { lazy, Suspense } from "react";
import { pathOf, useGo, useSubpath } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { PageHeader, Tabs } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { ComboBox, Select } from "../../components/Select.tsx";
import { Loading } from "../../components/states.tsx";
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
  diagram: lazy(() => import("./Diagram.tsx")),
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
            content: (
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
  const schemas = useOperation("catalog.schemas", {}, { staleAfter: 60_000 });
  const choices = [...new Set([schema, ...(schemas.data ?? []).map(({ name }) => name)])];
  const Chooser = choices.length > 20 ? ComboBox : Select;
  return (
    <>
      <Chooser
        label={texts.schema}
        hidesLabel
        choices={choices.map((id) => ({ id, label: id }))}
        value={schema}
        onChange={(chosen) => chosen !== schema && go(pathOf("schema", part, chosen))}
      />
      {mayChange && <Button icon="plus" onPress={() => ask(createSchema)}>{texts.createSchema}</Button>}
      {mayChange && schema !== "public" && (
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
