import { useState } from "react";
import { useChange, useOperation } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { QueryView } from "../../components/states.tsx";
import { texts as shared } from "../../texts.ts";
import type { Change } from "../../components/ChangeDialog.tsx";
import type { Pending } from "./TablePolicies.tsx";
import { policyTexts as texts } from "./texts.ts";

/** Choose a template and fill in its parameters; its SQL is looked at next. */
export function TemplateForm({ schema, table, onClose, onReady }: {
  schema: string;
  table: string;
  onClose: () => void;
  onReady: (pending: Pending) => void;
}) {
  const templates = useOperation("policies.templates", {});
  const [chosen, setChosen] = useState("owner");
  const [values, setValues] = useState<{ [name: string]: string }>({});
  const template = templates.data?.find((candidate) => candidate.name === chosen);
  const use = useChange("policies.from_template", {
    showsError: true,
    onDone: ({ changes }) =>
      onReady({
        title: texts.createTitle,
        name: texts.templateName(template?.title ?? chosen, table),
        changes: changes as Change[],
      }),
  });
  const parameters = Object.fromEntries(
    (template?.parameters ?? []).flatMap(({ name }) => values[name]?.trim() ? [[name, values[name]!.trim()]] : []),
  );
  return (
    <Dialog
      title={texts.template}
      isOpen
      onClose={onClose}
      onSubmit={() => use.mutate({ template: chosen, schema, table, parameters })}
      error={use.error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={use.isPending}>{texts.showSql}</Button>
        </>
      }
    >
      <QueryView query={templates}>
        {(all) => (
          <>
            <Select
              label={texts.chooseTemplate}
              value={chosen}
              onChange={setChosen}
              choices={all.map(({ name, title, allows }) => ({ id: name, label: title, hint: allows }))}
            />
            <p className="soft">{template?.allows}</p>
            {template?.parameters.map((parameter) => (
              <Field
                key={parameter.name}
                label={parameter.meaning}
                value={values[parameter.name] ?? ""}
                onChange={(value) => setValues((earlier) => ({ ...earlier, [parameter.name]: value }))}
                isRequired={parameter.default === null}
                isCode
                {...(parameter.default ? { placeholder: parameter.default } : {})}
              />
            ))}
          </>
        )}
      </QueryView>
    </Dialog>
  );
}
