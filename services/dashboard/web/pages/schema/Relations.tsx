import { useState } from "react";
import { pathOf, useGo } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { formatBytes, formatNumber } from "../../format.ts";
import type { RelationInfo } from "../../generated/operations.ts";
import { CreateTable } from "../tables/CreateTable.tsx";
import { useChangeFlow } from "./changeFlow.tsx";
import { view } from "./forms.ts";
import { RelationView } from "./RelationView.tsx";
import type { PartProps } from "./SchemaPage.tsx";
import { schemaTexts } from "./texts.ts";

const texts = schemaTexts.tables;

/** Tables and views of a schema, or one of them. */
export default function Relations({ schema, open }: PartProps) {
  return open === undefined
    ? <RelationList schema={schema} />
    : <RelationView key={open} schema={schema} name={open} />;
}

function RelationList({ schema }: { schema: string }) {
  const go = useGo();
  const { ask, mayChange } = useChangeFlow();
  const [isCreating, setCreating] = useState(false);
  const relations = useOperation("catalog.relations", { schemas: [schema] });
  const create = mayChange && (
    <>
      <Button size="small" icon="plus" onPress={() => ask(view(schema, null))}>{texts.createView}</Button>
      <Button size="small" icon="plus" variant="primary" onPress={() => setCreating(true)}>{texts.create}</Button>
    </>
  );
  return (
    <Card title={schemaTexts.tabs.tables} isFlush actions={create}>
      <QueryView
        query={relations}
        isEmpty={(rows) => rows.length === 0}
        empty={<EmptyState icon="table" title={texts.none}>{texts.noneText}</EmptyState>}
      >
        {(rows) => (
          <DataTable
            label={schemaTexts.tabs.tables}
            columns={columns}
            rows={rows}
            keyOf={({ name }) => name}
            onOpen={({ name }) => go(pathOf("schema", "tables", schema, name))}
            height={`${Math.min(rows.length, 18) * 33 + 36}px`}
          />
        )}
      </QueryView>
      {isCreating && <CreateTable schema={schema} onClose={() => setCreating(false)} />}
    </Card>
  );
}

const columns: readonly Column<RelationInfo>[] = [
  {
    id: "name",
    title: texts.name,
    width: "minmax(8rem, 2fr)",
    cell: ({ name }) => <code className="cut">{name}</code>,
  },
  { id: "kind", title: texts.kind, isMinor: true, cell: ({ kind }) => kind },
  {
    id: "security",
    title: texts.security,
    cell: (relation) =>
      relation.kind === "table" || relation.kind === "partitioned table"
        ? relation.has_row_security
          ? <Badge tone="good" icon="lock">{texts.on}</Badge>
          : <Badge tone="warn" icon="alert">{texts.off}</Badge>
        : null,
  },
  {
    id: "rows",
    title: texts.rows,
    align: "end",
    width: "6rem",
    isMinor: true,
    cell: ({ rows }) => <span className="number">{rows === null ? "" : formatNumber(rows)}</span>,
  },
  {
    id: "size",
    title: texts.size,
    align: "end",
    width: "6rem",
    isMinor: true,
    cell: ({ bytes }) => <span className="number">{formatBytes(bytes)}</span>,
  },
  {
    id: "comment",
    title: texts.comment,
    width: "minmax(6rem, 2fr)",
    isMinor: true,
    cell: ({ comment }) => <span className="soft cut">{comment}</span>,
  },
];
