import { useOperation } from "../../api/hooks.ts";
import { Badge } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import type { TypeInfo } from "../../generated/operations.ts";
import { useChangeFlow } from "./changeFlow.tsx";
import { addEnumValue, comment, createEnum, migrationName, rename, renameEnumValue } from "./forms.ts";
import { Item, Part } from "./relationParts.tsx";
import type { PartProps } from "./SchemaPage.tsx";
import { schemaTexts } from "./texts.ts";

const texts = schemaTexts.types;

/** Enums, domains and composite types of a schema. */
export default function Types({ schema }: PartProps) {
  const { ask, mayChange } = useChangeFlow();
  const types = useOperation("catalog.types", { schemas: [schema] });
  const create = mayChange && (
    <Button
      size="small"
      icon="plus"
      variant="primary"
      onPress={() => ask(createEnum(schema))}
    >
      {texts.createEnum}
    </Button>
  );
  return (
    <QueryView
      query={types}
      isEmpty={(rows) => rows.length === 0}
      empty={<EmptyState icon="layers" title={texts.none} action={create}>{texts.noneText}</EmptyState>}
    >
      {(rows) => (
        <Part title={schemaTexts.tabs.types} actions={create}>
          {rows.map((type) => <TypeItem key={type.name} type={type} />)}
        </Part>
      )}
    </QueryView>
  );
}

function TypeItem({ type }: { type: TypeInfo }) {
  const { ask, show } = useChangeFlow();
  const { schema, name, kind, values } = type;
  const attributes = Object.entries(type.attributes).map(([attribute, of]) => `${attribute} ${of}`);
  return (
    <Item
      name={name}
      code={[...values, ...attributes, ...type.checks, ...(type.base ? [type.base] : [])].join(", ")}
      marks={<Badge>{kind}</Badge>}
      comment={type.comment}
      entries={[
        ...(kind === "enum"
          ? [
            { id: "add", label: texts.addValue, onAction: () => ask(addEnumValue(schema, name, values)) },
            { id: "value", label: texts.renameValue, onAction: () => ask(renameEnumValue(schema, name, values)) },
          ]
          : []),
        {
          id: "rename",
          label: schemaTexts.verbs.rename,
          onAction: () => ask(rename(name, (to) => ({ change: "rename_object", on: "type", schema, name, to }))),
        },
        {
          id: "comment",
          label: schemaTexts.verbs.comment,
          onAction: () =>
            ask(
              comment(
                name,
                type.comment,
                (text) => ({ change: "set_comment", on: "type", schema, name, comment: text }),
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
              title: schemaTexts.forms.drop(name),
              name: migrationName("drop", name),
              changes: [{ change: "drop_type", schema, name }],
              typeName: name,
            }),
        },
      ]}
    />
  );
}
