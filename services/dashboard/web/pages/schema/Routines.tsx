import { useOperation } from "../../api/hooks.ts";
import { Badge } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import type { FunctionInfo } from "../../generated/operations.ts";
import { useChangeFlow } from "./changeFlow.tsx";
import { comment, migrationName, routine } from "./forms.ts";
import { Item, Part } from "./relationParts.tsx";
import type { PartProps } from "./SchemaPage.tsx";
import { schemaTexts } from "./texts.ts";

const texts = schemaTexts.functions;

/** Functions and procedures of a schema. */
export default function Routines({ schema }: PartProps) {
  const { ask, mayChange } = useChangeFlow();
  const functions = useOperation("catalog.functions", { schemas: [schema] });
  const create = mayChange && (
    <Button
      size="small"
      icon="plus"
      variant="primary"
      onPress={() => ask(routine(schema, null))}
    >
      {texts.create}
    </Button>
  );
  return (
    <QueryView
      query={functions}
      isEmpty={(rows) => rows.length === 0}
      empty={<EmptyState icon="function" title={texts.none} action={create}>{texts.noneText}</EmptyState>}
    >
      {(rows) => (
        <Part title={schemaTexts.tabs.functions} actions={create}>
          {rows.map((row) => <FunctionItem key={`${row.name}(${row.identity_arguments})`} row={row} />)}
        </Part>
      )}
    </QueryView>
  );
}

function FunctionItem({ row }: { row: FunctionInfo }) {
  const { ask, show } = useChangeFlow();
  const { schema, name, identity_arguments: types } = row;
  const label = `${name}(${types})`;
  return (
    <Item
      name={name}
      code={`(${row.arguments})${row.result ? ` → ${row.result}` : ""}`}
      marks={
        <>
          <Badge>{row.kind === "function" ? row.language : row.kind}</Badge>
          {row.is_security_definer && <Badge tone="warn">{texts.definer}</Badge>}
          {row.executable_by.length > 0 && (
            <span className="soft">
              {texts.callers} {row.executable_by.join(", ")}
            </span>
          )}
        </>
      }
      comment={row.comment}
      entries={[
        ...(row.definition !== null
          ? [{
            id: "edit",
            label: schemaTexts.verbs.define,
            icon: "edit" as const,
            onAction: () => ask(routine(schema, row)),
          }]
          : []),
        {
          id: "comment",
          label: schemaTexts.verbs.comment,
          onAction: () =>
            ask(
              comment(
                name,
                row.comment,
                (text) => ({ change: "set_comment", on: "function", schema, name, arguments: types, comment: text }),
              ),
            ),
        },
        {
          id: "drop",
          label: schemaTexts.verbs.drop,
          icon: "trash",
          isDanger: true,
          onAction: () =>
            show({
              title: schemaTexts.forms.drop(label),
              name: migrationName("drop", name),
              changes: [{ change: "drop_function", schema, name, arguments: types }],
              typeName: name,
            }),
        },
      ]}
    />
  );
}
