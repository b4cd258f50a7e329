import { lazy, Suspense, useState } from "react";
import { Button, IconButton } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { Field } from "../../components/Field.tsx";
import type { TableColumn } from "../../generated/operations.ts";
import { tablesTexts as texts } from "./texts.ts";
import { choiceOf, choicesOf, editorOf, formatArray, parseArray, type TextValue, timePartsOf } from "./values.ts";

const ReferencePicker = lazy(() => import("./ReferencePicker.tsx"));

export interface ValueFieldProps {
  column: TableColumn;
  value: TextValue;
  onChange: (value: TextValue) => void;
  hasFocus?: boolean;
  placeholder?: string;
}

/** A field for a value of a column, by its type. */
export function ValueField(props: ValueFieldProps) {
  const { column, value, onChange } = props;
  switch (editorOf(column)) {
    case "choice":
      return <ChoiceField {...props} />;
    case "json":
      return <JsonField {...props} />;
    case "array":
      return <ArrayField {...props} />;
    case "time":
      return <TimeField {...props} />;
    case "reference":
      return (
        <>
          <TextField {...props} />
          <Suspense fallback={null}>
            <ReferencePicker column={column} value={value} onChange={onChange} />
          </Suspense>
        </>
      );
    case "long":
      return <TextField {...props} lines={Math.min(12, Math.max(2, (value ?? "").split("\n").length))} />;
    default:
      return <TextField {...props} />;
  }
}

function TextField({ column, value, onChange, hasFocus, placeholder, lines }: ValueFieldProps & { lines?: number }) {
  const isText = column.category === "text";
  return (
    <Field
      label={column.name}
      hidesLabel
      value={value ?? ""}
      onChange={(text) => onChange(text === "" && !isText ? null : text)}
      autoComplete="off"
      hasFocus={hasFocus ?? false}
      isCode={!isText}
      placeholder={placeholder ?? (value === null ? texts.edit.null : "")}
      inputMode={column.category === "number" ? "decimal" : "text"}
      {...(lines ? { lines } : {})}
    />
  );
}

function ChoiceField({ column, value, onChange, placeholder, hasFocus }: ValueFieldProps) {
  const choices = choicesOf(column);
  return (
    <select
      className="input"
      aria-label={column.name}
      autoFocus={hasFocus}
      value={value === null ? "null" : `=${choiceOf(column, value)}`}
      onChange={(event) => onChange(event.target.value === "null" ? null : event.target.value.slice(1))}
    >
      {(column.is_nullable || value === null) && (
        <option value="null" disabled={!column.is_nullable}>{placeholder ?? texts.edit.null}</option>
      )}
      {choices.map((choice) => <option key={choice} value={`=${choice}`}>{choice}</option>)}
    </select>
  );
}

function JsonField({ column, value, onChange, hasFocus }: ValueFieldProps) {
  const [isBroken, setBroken] = useState(false);
  const [text, setText] = useState(() => pretty(value));
  return (
    <>
      <CodeEditor
        label={column.name}
        language="json"
        value={text}
        minHeight="5rem"
        maxHeight="22rem"
        hasFocus={hasFocus ?? false}
        onChange={(next) => {
          setText(next);
          setBroken(next.trim() !== "" && !isJson(next));
          onChange(next.trim() === "" ? null : next);
        }}
      />
      {isBroken && <p className="field-error" role="status">{texts.edit.jsonInvalid}</p>}
    </>
  );
}

/** Whether a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function pretty(value: TextValue): string {
  // Numbers that JavaScript rounds must stay as they are.
  if (value === null || !isJson(value) || /\d{16}|[eE][+-]?\d|\.\d{12}/.test(value)) return value ?? "";
  return JSON.stringify(JSON.parse(value), null, 2);
}

function ArrayField(props: ValueFieldProps) {
  const { column, value, onChange } = props;
  const items = value === null ? [] : parseArray(value);
  if (items === null) return <TextField {...props} />;
  const change = (next: readonly string[]) => onChange(formatArray(next));
  return (
    <div className="tables-elements" role="group" aria-label={column.name}>
      {items.map((item, index) => (
        <div key={index} className="input-row">
          <Field
            label={texts.edit.element(index + 1)}
            hidesLabel
            value={item}
            autoComplete="off"
            onChange={(text) => change(items.with(index, text))}
          />
          <IconButton
            icon="close"
            size="small"
            label={texts.edit.removeElement(index + 1)}
            onPress={() => change(items.toSpliced(index, 1))}
          />
        </div>
      ))}
      <Button size="small" icon="plus" onPress={() => change([...items, ""])}>{texts.edit.addElement}</Button>
    </div>
  );
}

/** A date, or a date with time; with a zone where the type has one. Values outside of the calendar stay text. */
function TimeField(props: ValueFieldProps) {
  const { column, value, onChange, hasFocus } = props;
  const hasZone = column.base_type === "timestamp with time zone";
  const isDate = column.base_type === "date";
  const parts = value === null ? null : timePartsOf(value, hasZone);
  if (value !== null && !parts) return <TextField {...props} />;
  const zone = parts?.zone || localZone();
  const set = (time: string, inZone: string) =>
    onChange(time === "" ? null : hasZone ? `${time.replace("T", " ")} ${inZone}` : time.replace("T", " "));
  const time = parts ? (isDate ? parts.date : `${parts.date}T${parts.time || "00:00"}`) : "";
  return (
    <div className="tables-time">
      <input
        className="input"
        aria-label={column.name}
        type={isDate ? "date" : "datetime-local"}
        step={isDate ? undefined : "any"}
        autoFocus={hasFocus}
        // The control takes milliseconds; the microseconds of the database stay until the value is changed.
        value={time.replace(/(\.\d{3})\d+$/, "$1")}
        onChange={(event) => set(event.target.value, zone)}
      />
      {hasZone && (
        <Field
          label={`${column.name}: ${texts.edit.zone}`}
          hidesLabel
          value={zone}
          isCode
          autoComplete="off"
          onChange={(text) => set(time, text)}
          isDisabled={value === null}
        />
      )}
      <Button
        size="small"
        onPress={() => onChange(isDate ? nowText().slice(0, 10) : hasZone ? `${nowText()} +00` : nowText())}
      >
        {texts.edit.now}
      </Button>
    </div>
  );
}

function nowText(): string {
  return new Date().toISOString().slice(0, 19).replace("T", " ");
}

function localZone(): string {
  const minutes = -new Date().getTimezoneOffset();
  const two = (value: number) => String(value).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}${
    minutes % 60 ? `:${two(Math.abs(minutes) % 60)}` : ""
  }`;
}
