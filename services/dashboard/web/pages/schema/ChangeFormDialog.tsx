import { useState } from "react";
import { useDelayed } from "../../api/delayed.ts";
import { Button } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { ColumnsField } from "../../components/ColumnsField.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { TableField } from "../../components/TableField.tsx";
import { TypeField } from "../../components/TypeField.tsx";
import { splitName } from "../../sqlName.ts";
import { texts as shared } from "../../texts.ts";
import { type ChangeForm, type FormField, type FormValue, namesOf, type PendingChange, type Values } from "./forms.ts";
import { schemaTexts as texts } from "./texts.ts";

/** Asks for what a change needs; its SQL is looked at next. */
export function ChangeFormDialog({ form, schema, onClose, onReady }: {
  form: ChangeForm;
  schema: string;
  onClose: () => void;
  onReady: (pending: PendingChange) => void;
}) {
  const [values, setValues] = useState<Values>(form.initial);
  const isReady = form.fields.every(({ name, isRequired }) => !isRequired || String(values[name] ?? "").trim() !== "");
  const hasEditor = form.fields.some(({ kind }) => kind === "sql");
  const target = useDelayed(String(values["target"] ?? "").trim());
  const submit = () => {
    if (isReady) onReady({ title: form.title, name: form.migration(values), changes: form.changes(values) });
  };
  return (
    <Dialog
      title={form.title}
      isOpen
      size={hasEditor ? "large" : "normal"}
      isDismissable={false}
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!isReady}>{texts.showSql}</Button>
        </>
      }
    >
      {form.fields.map((field, index) => (
        <FormInput
          key={field.name}
          field={field}
          schema={schema}
          target={target}
          value={values[field.name] ?? (field.kind === "flag" ? false : "")}
          onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
          isFirst={index === 0}
        />
      ))}
    </Dialog>
  );
}

function FormInput({ field, schema, target, value, onChange, isFirst }: {
  field: FormField;
  schema: string;
  /** The table that the form's field of this name has. */
  target: string;
  value: FormValue;
  onChange: (value: FormValue) => void;
  isFirst: boolean;
}) {
  const { label, hint, kind, isRequired } = field;
  const text = String(value);
  if (kind === "flag") {
    return (
      <div>
        <Checkbox isSelected={value === true} onChange={onChange}>{label}</Checkbox>
        {hint && <p className="hint schema-flag-hint">{hint}</p>}
      </div>
    );
  }
  if (kind === "choice") {
    const choices = (field.choices ?? []).map((id) => ({ id, label: id || "–" }));
    return <Select label={label} choices={choices} value={text} onChange={onChange} {...(hint ? { hint } : {})} />;
  }
  if (kind === "type") return <TypeField label={label} schema={schema} value={text} onChange={onChange} />;
  if (kind === "table") return <TableField label={label} schema={schema} value={text} onChange={onChange} />;
  if (kind === "columns") {
    const [place, table] = field.of ?? (target ? splitName(target) : [schema, ""]);
    return (
      <ColumnsField
        label={label}
        schema={place}
        table={table}
        value={namesOf(value)}
        onChange={onChange}
        {...(hint ? { hint } : {})}
      />
    );
  }
  if (kind === "sql") {
    return (
      <CodeEditor
        label={label}
        language="sql"
        value={text}
        onChange={onChange}
        minHeight="10rem"
        maxHeight="24rem"
        hasFocus={isFirst}
      />
    );
  }
  return (
    <Field
      label={label}
      value={text}
      onChange={onChange}
      isCode={kind === "code"}
      isRequired={isRequired ?? false}
      autoComplete="off"
      hasFocus={isFirst}
      {...(kind === "lines" ? { lines: 5 } : {})}
      {...(hint ? { hint } : {})}
    />
  );
}
