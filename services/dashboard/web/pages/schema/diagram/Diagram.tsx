import { lazy, Suspense, useState } from "react";
import { Link, pathOf, useSearch } from "../../../address.tsx";
import { useOperation } from "../../../api/hooks.ts";
import { Card } from "../../../components/basics.tsx";
import { Button } from "../../../components/Button.tsx";
import { EmptyState, Loading, Note, QueryView } from "../../../components/states.tsx";
import { Tabs } from "../../../components/Tabs.tsx";
import type { Diagram as DiagramData } from "../../../generated/operations.ts";
import { CreateTable } from "../../tables/CreateTable.tsx";
import { useChangeFlow } from "../changeFlow.tsx";
import type { PartProps } from "../SchemaPage.tsx";
import { schemaTexts } from "../texts.ts";

const texts = schemaTexts.diagram;
const Canvas = lazy(() => import("./DiagramCanvas.tsx"));
/** Tables that are drawn without being asked: the layout of 500 takes two seconds. */
const drawnAtOnce = 300;

/** Tables and their foreign keys: as a drawing, and as a list that says the same. */
export default function Diagram({ schema }: PartProps) {
  const [search, changeSearch] = useSearch();
  const diagram = useOperation("catalog.diagram", { schema });
  return (
    <QueryView
      query={diagram}
      isEmpty={({ tables }) => tables.length === 0}
      empty={
        <EmptyState icon="graph" title={texts.none} action={<FirstTable schema={schema} />}>
          {texts.noneText}
        </EmptyState>
      }
    >
      {(data) => (
        <Tabs
          label={texts.label(schema)}
          selected={search["as"] ?? "drawing"}
          onSelect={(as) => changeSearch({ as: as === "drawing" ? null : as })}
          tabs={[
            { id: "drawing", title: texts.drawing, content: <Drawing data={data} /> },
            { id: "list", title: texts.list, content: <TableKeys data={data} /> },
          ]}
        />
      )}
    </QueryView>
  );
}

function FirstTable({ schema }: { schema: string }) {
  const { mayChange } = useChangeFlow();
  const [isCreating, setCreating] = useState(false);
  if (!mayChange) return null;
  return (
    <>
      <Button icon="plus" onPress={() => setCreating(true)}>{schemaTexts.tables.create}</Button>
      {isCreating && <CreateTable schema={schema} onClose={() => setCreating(false)} onCreated={() => undefined} />}
    </>
  );
}

function Drawing({ data }: { data: DiagramData }) {
  const [isWanted, setWanted] = useState(data.tables.length <= drawnAtOnce);
  if (!isWanted) {
    return (
      <Note>
        <p>{texts.many(data.tables.length)}</p>
        <Button size="small" onPress={() => setWanted(true)}>{texts.draw}</Button>
      </Note>
    );
  }
  return (
    <Suspense fallback={<Loading />}>
      <Canvas diagram={data} />
    </Suspense>
  );
}

function TableKeys({ data }: { data: DiagramData }) {
  return (
    <Card isFlush>
      <ul className="schema-items">
        {data.tables.map(({ name }) => {
          const keys = data.foreign_keys.filter(({ table }) => table === name);
          return (
            <li key={name} className="schema-item">
              <div className="schema-item-text">
                <Link to={pathOf("schema", "tables", data.schema, name)}>{name}</Link>{" "}
                {keys.length === 0 ? <span className="faint">{texts.noKeys}</span> : (
                  <ul>
                    {keys.map((key) => (
                      <li key={key.name} className="soft">
                        {texts.refers(key.columns.join(", "), `${key.target.schema}.${key.target.table}`)}
                      </li>
                    ))}
                  </ul>
                )}
              </div>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
