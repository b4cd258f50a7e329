import { Link, pathOf, useGo } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { QueryView } from "../../components/states.tsx";
import type { Change } from "../../components/ChangeDialog.tsx";
import type { RelationInfo } from "../../generated/operations.ts";
import { useChangeFlow } from "./changeFlow.tsx";
import { comment, migrationName, rename, view } from "./forms.ts";
import { Columns, Constraints, Indexes, Triggers } from "./relationParts.tsx";
import { schemaTexts as texts } from "./texts.ts";

/** A table or view: its columns, keys, indexes and triggers, and what can be changed. */
export function RelationView({ schema, name }: { schema: string; name: string }) {
  const relation = useOperation("catalog.relation", { schema, name });
  return (
    <>
      <p className="schema-path">
        <Link to={pathOf("schema", "tables", schema)}>{texts.all}</Link>
      </p>
      <QueryView query={relation}>{(data) => <Relation relation={data} />}</QueryView>
    </>
  );
}

function Relation({ relation }: { relation: RelationInfo }) {
  const isView = relation.kind.endsWith("view");
  return (
    <>
      <Head relation={relation} isView={isView} />
      <Columns relation={relation} />
      {relation.definition !== null && (
        <Card title={texts.parts.definition}>
          <CodeBlock label={texts.parts.definition} code={relation.definition} />
        </Card>
      )}
      {!isView && <Constraints relation={relation} />}
      {(!isView || relation.indexes.length > 0) && <Indexes relation={relation} />}
      {relation.kind !== "materialized view" && <Triggers relation={relation} />}
    </>
  );
}

function Head({ relation, isView }: { relation: RelationInfo; isView: boolean }) {
  const go = useGo();
  const { ask, show, mayChange } = useChangeFlow();
  const { schema, name, kind } = relation;
  const isMaterialized = kind === "materialized view";
  const renamed = (to: string): Change =>
    isView
      ? { change: "rename_object", on: isMaterialized ? "materialized view" : "view", schema, name, to }
      : { change: "rename_table", schema, table: name, to };
  const commented = (text: string | null): Change => ({
    change: "set_comment",
    on: isMaterialized ? "materialized view" : isView ? "view" : "table",
    schema,
    name,
    comment: text,
  });
  const dropped: Change = isView
    ? { change: "drop_view", schema, name, is_materialized: isMaterialized }
    : { change: "drop_table", schema, table: name };
  return (
    <header className="schema-head">
      <div className="schema-title">
        <h2>{name}</h2>
        <Badge>{kind}</Badge>
        <Link to={pathOf("tables", schema, name)}>{texts.tables.openRows}</Link>
        {!isView && <Link to={pathOf("policies", schema, name)}>{texts.tables.openPolicies}</Link>}
      </div>
      {mayChange && (
        <div className="schema-actions">
          {isView && (
            <Button size="small" icon="edit" onPress={() => ask(view(schema, relation))}>{texts.verbs.define}</Button>
          )}
          <Button size="small" onPress={() => ask(rename(name, renamed))}>{texts.verbs.rename}</Button>
          <Button size="small" onPress={() => ask(comment(name, relation.comment, commented))}>
            {texts.verbs.comment}
          </Button>
          <Button
            size="small"
            icon="trash"
            variant="danger"
            onPress={() =>
              show(
                {
                  title: texts.forms.drop(name),
                  name: migrationName("drop", name),
                  changes: [dropped],
                  typeName: name,
                },
                () => go(pathOf("schema", "tables", schema)),
              )}
          >
            {texts.verbs.drop}
          </Button>
        </div>
      )}
      {relation.comment && <p className="soft schema-comment">{relation.comment}</p>}
    </header>
  );
}
