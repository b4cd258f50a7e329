import { useMemo, useState } from "react";
import { Button } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import type { PolicyInfo } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import type { Pending } from "./TablePolicies.tsx";
import { policyTexts as texts } from "./texts.ts";

type Command = "all" | "select" | "insert" | "update" | "delete";

/** Write a policy, new or changed; its SQL is looked at next. Command and kind of an existing policy cannot change. */
export function PolicyForm({ schema, table, policy, columns, onClose, onReady }: {
  schema: string;
  table: string;
  policy: PolicyInfo | null;
  columns: readonly string[];
  onClose: () => void;
  onReady: (pending: Pending) => void;
}) {
  const [name, setName] = useState(policy?.name ?? "");
  const [command, setCommand] = useState<Command>((policy?.command.toLowerCase() ?? "select") as Command);
  const [roles, setRoles] = useState(policy?.roles.join(", ") ?? "authenticated");
  const [isRestrictive, setRestrictive] = useState(policy ? !policy.is_permissive : false);
  const [using, setUsing] = useState(policy?.using ?? "");
  const [check, setCheck] = useState(policy?.check ?? "");
  const names = useMemo(() => ({ [table]: columns, auth: ["uid()", "jwt()", "role()"] }), [table, columns]);
  const expressions = {
    using: command !== "insert" && using.trim() ? using : null,
    check: command !== "select" && command !== "delete" && check.trim() ? check : null,
  };
  const isReady = name.trim() !== "" && (expressions.using !== null || expressions.check !== null);
  const submit = () => {
    if (!isReady) return;
    const list = roles.split(",").map((role) => role.trim()).filter(Boolean);
    const place = { schema, table };
    onReady(
      policy
        ? {
          title: texts.editTitle,
          name: texts.editName(policy.name, table),
          changes: [{
            change: "alter_policy",
            ...place,
            name: policy.name,
            to: name.trim() === policy.name ? null : name.trim(),
            roles: list,
            ...expressions,
          }],
        }
        : {
          title: texts.createTitle,
          name: texts.createName(name.trim(), table),
          changes: [{
            change: "create_policy",
            ...place,
            name: name.trim(),
            command,
            roles: list.length > 0 ? list : ["public"],
            is_permissive: !isRestrictive,
            ...expressions,
          }],
        },
    );
  };
  return (
    <Dialog
      title={policy ? texts.edit(policy.name) : texts.create}
      isOpen
      onClose={onClose}
      onSubmit={submit}
      isDismissable={false}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!isReady}>{texts.showSql}</Button>
        </>
      }
    >
      <Field label={texts.name} value={name} onChange={setName} hasFocus />
      <Select
        label={texts.command}
        value={command}
        onChange={setCommand}
        isDisabled={policy !== null}
        choices={[
          { id: "select", label: texts.select },
          { id: "insert", label: texts.insert },
          { id: "update", label: texts.update },
          { id: "delete", label: texts.delete },
          { id: "all", label: texts.allCommands },
        ]}
      />
      <Field label={texts.roles} hint={texts.rolesHint} value={roles} onChange={setRoles} isCode />
      <Checkbox isSelected={isRestrictive} onChange={setRestrictive} isDisabled={policy !== null}>
        {texts.restrictive}: {texts.restrictiveHint}
      </Checkbox>
      {command !== "insert" && (
        <Expression label={texts.using} hint={texts.usingHint} value={using} onChange={setUsing} schema={names} />
      )}
      {command !== "select" && command !== "delete" && (
        <Expression label={texts.check} hint={texts.checkHint} value={check} onChange={setCheck} schema={names} />
      )}
    </Dialog>
  );
}

function Expression({ label, hint, ...editor }: {
  label: string;
  hint: string;
  value: string;
  onChange: (value: string) => void;
  schema: { readonly [table: string]: readonly string[] };
}) {
  return (
    <div className="field">
      <span className="label">{label}</span>
      <CodeEditor label={label} language="sql" minHeight="4rem" maxHeight="12rem" {...editor} />
      <span className="hint">{hint}</span>
    </div>
  );
}
