/** The parts of a table: columns, keys and checks, indexes, triggers, each with its changes. */

import type { ReactNode } from "react";
import { Badge, Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import type { Change } from "../../components/ChangeDialog.tsx";
import type { MenuEntry } from "../../components/Menu.tsx";
import { formatBytes } from "../../format.ts";
import type { RelationInfo } from "../../generated/operations.ts";
import { ActionsMenu } from "./ActionsMenu.tsx";
import { useChangeFlow } from "./changeFlow.tsx";
import * as forms from "./forms.ts";
import { schemaTexts as texts } from "./texts.ts";

interface PartOfRelation {
  relation: RelationInfo;
}

export function Columns({ relation }: PartOfRelation) {
  const { ask, show, mayChange } = useChangeFlow();
  const { schema, name: table } = relation;
  const mayAlter = mayChange && relation.kind.endsWith("table");
  return (
    <Part
      title={texts.parts.columns}
      actions={mayAlter && <AddButton label={texts.verbs.add} onPress={() => ask(forms.addColumn(relation))} />}
    >
      {relation.columns.map((column) => {
        const { name } = column;
        const renamed = (to: string): Change => ({ change: "rename_column", schema, table, column: name, to });
        const commented = (comment: string | null): Change => ({
          change: "set_comment",
          on: "column",
          schema,
          of: table,
          name,
          comment,
        });
        return (
          <Item
            key={name}
            name={name}
            code={column.type}
            marks={
              <>
                {!column.is_nullable && <Badge>{texts.columns.required}</Badge>}
                {column.identity !== null && <Badge tone="accent">{texts.columns.identity}</Badge>}
                {column.generated !== null && <code>{texts.columns.generated(column.generated)}</code>}
                {column.default !== null && <code className="soft">{column.default}</code>}
              </>
            }
            comment={column.comment}
            entries={mayAlter
              ? [
                {
                  id: "edit",
                  label: texts.verbs.edit,
                  icon: "edit",
                  onAction: () => ask(forms.editColumn(relation, column)),
                },
                { id: "rename", label: texts.verbs.rename, onAction: () => ask(forms.rename(name, renamed)) },
                {
                  id: "comment",
                  label: texts.verbs.comment,
                  onAction: () => ask(forms.comment(name, column.comment, commented)),
                },
                {
                  id: "drop",
                  label: texts.verbs.drop,
                  icon: "trash",
                  isDanger: true,
                  onAction: () =>
                    show({
                      title: texts.forms.drop(`${table}.${name}`),
                      name: forms.migrationName("drop", name, "of", table),
                      changes: [{ change: "drop_column", schema, table, column: name }],
                      typeName: name,
                    }),
                },
              ]
              : []}
          />
        );
      })}
    </Part>
  );
}

export function Constraints({ relation }: PartOfRelation) {
  const { ask, show, mayChange } = useChangeFlow();
  const { schema, name: table } = relation;
  const hasPrimary = relation.constraints.some(({ kind }) => kind === "primary key");
  return (
    <Part
      title={texts.parts.constraints}
      none={texts.parts.noConstraints}
      actions={mayChange && (
        <>
          {!hasPrimary && (
            <AddButton
              label={texts.parts.primary}
              onPress={() => ask(forms.addKey(relation, "primary"))}
            />
          )}
          <AddButton label={texts.parts.unique} onPress={() => ask(forms.addKey(relation, "unique"))} />
          <AddButton label={texts.parts.foreign} onPress={() => ask(forms.addForeignKey(relation))} />
          <AddButton label={texts.parts.check} onPress={() => ask(forms.addCheck(relation))} />
        </>
      )}
    >
      {relation.constraints.map(({ name, kind, definition, is_validated: isValidated }) => (
        <Item
          key={name}
          name={name}
          code={definition}
          marks={
            <>
              <Badge>{kind}</Badge>
              {!isValidated && <Badge tone="warn">{texts.columns.notValid}</Badge>}
            </>
          }
          entries={[
            ...(isValidated ? [] : [{
              id: "validate",
              label: texts.verbs.validate,
              onAction: () =>
                show({
                  title: texts.forms.validate(name),
                  name: forms.migrationName("validate", name),
                  changes: [{ change: "validate_constraint", schema, table, constraint: name }],
                }),
            }]),
            {
              id: "rename",
              label: texts.verbs.rename,
              onAction: () =>
                ask(forms.rename(name, (to) => ({
                  change: "rename_object",
                  on: "constraint",
                  schema,
                  of: table,
                  name,
                  to,
                }))),
            },
            {
              id: "drop",
              label: texts.verbs.drop,
              icon: "trash",
              isDanger: true,
              onAction: () =>
                show({
                  title: texts.forms.drop(name),
                  name: forms.migrationName("drop", name),
                  changes: [{ change: "drop_constraint", schema, table, constraint: name }],
                }),
            },
          ]}
        />
      ))}
      {relation.referenced_by.map((key) => (
        <Item
          key={`by ${key.schema}.${key.name}`}
          name={`${key.schema}.${key.table}`}
          code={key.columns.join(", ")}
          marks={<Badge tone="accent">{texts.parts.referencedBy}</Badge>}
          entries={[]}
        />
      ))}
    </Part>
  );
}

export function Indexes({ relation }: PartOfRelation) {
  const { ask, show, mayChange } = useChangeFlow();
  const { schema } = relation;
  return (
    <Part
      title={texts.parts.indexes}
      none={texts.parts.noIndexes}
      actions={mayChange && <AddButton label={texts.verbs.add} onPress={() => ask(forms.addIndex(relation))} />}
    >
      {relation.indexes.map((index) => (
        <Item
          key={index.name}
          name={index.name}
          code={index.definition.replace(/^.* USING /i, "")}
          marks={
            <>
              {index.is_unique && <Badge>{texts.columns.unique}</Badge>}
              {!index.is_valid && <Badge tone="bad">{texts.columns.invalid}</Badge>}
              <span className="soft number">{formatBytes(index.bytes)}</span>
            </>
          }
          comment={index.comment}
          entries={index.constraint !== null ? [] : [
            {
              id: "rename",
              label: texts.verbs.rename,
              onAction: () =>
                ask(
                  forms.rename(
                    index.name,
                    (to) => ({ change: "rename_object", on: "index", schema, name: index.name, to }),
                  ),
                ),
            },
            {
              id: "drop",
              label: texts.verbs.drop,
              icon: "trash",
              isDanger: true,
              onAction: () =>
                show({
                  title: texts.forms.drop(index.name),
                  name: forms.migrationName("drop", index.name),
                  changes: [{ change: "drop_index", schema, index: index.name }],
                }),
            },
          ]}
        />
      ))}
    </Part>
  );
}

export function Triggers({ relation }: PartOfRelation) {
  const { ask, show, mayChange } = useChangeFlow();
  const { schema, name: table } = relation;
  return (
    <Part
      title={texts.parts.triggers}
      none={texts.parts.noTriggers}
      actions={mayChange && <AddButton label={texts.verbs.add} onPress={() => ask(forms.addTrigger(relation))} />}
    >
      {relation.triggers.map(({ name, definition, enabled, comment }) => {
        const isOff = enabled === "disabled";
        return (
          <Item
            key={name}
            name={name}
            code={definition}
            marks={isOff && <Badge tone="warn">{texts.columns.off}</Badge>}
            comment={comment}
            entries={[
              {
                id: "switch",
                label: isOff ? texts.verbs.enable : texts.verbs.disable,
                onAction: () =>
                  show({
                    title: texts.forms.switchTrigger(name),
                    name: forms.migrationName(isOff ? "enable" : "disable", name),
                    changes: [{ change: "switch_trigger", schema, table, name, enabled: isOff }],
                  }),
              },
              {
                id: "drop",
                label: texts.verbs.drop,
                icon: "trash",
                isDanger: true,
                onAction: () =>
                  show({
                    title: texts.forms.drop(name),
                    name: forms.migrationName("drop", name),
                    changes: [{ change: "drop_trigger", schema, table, name }],
                  }),
              },
            ]}
          />
        );
      })}
    </Part>
  );
}

function AddButton({ label, onPress }: { label: string; onPress: () => void }) {
  return <Button size="small" icon="plus" onPress={onPress}>{label}</Button>;
}

/** A titled list of objects. */
export function Part({ title, none, actions, children }: {
  title: string;
  none?: string;
  actions?: ReactNode;
  children: readonly ReactNode[] | ReactNode;
}) {
  const isEmpty = Array.isArray(children) && children.flat().filter(Boolean).length === 0;
  return (
    <Card title={title} actions={actions} isFlush>
      {isEmpty
        ? <p className="soft schema-none">{none}</p>
        : <ul className="schema-items" aria-label={title}>{children}</ul>}
    </Card>
  );
}

/** An object: its name, what it is, and its actions. */
export function Item({ name, code, marks, comment, entries }: {
  name: string;
  code: string;
  marks?: ReactNode;
  comment?: string | null;
  entries: readonly MenuEntry[];
}) {
  return (
    <li className="schema-item">
      <div className="schema-item-text">
        <strong>{name}</strong> <code className="schema-code">{code}</code> {marks}
        {comment && <p className="soft schema-comment">{comment}</p>}
      </div>
      <ActionsMenu name={name} entries={entries} />
    </li>
  );
}
