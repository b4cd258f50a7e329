import { lazy, Suspense, useRef, useState } from "react";
import { Button, IconButton } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { Field } from "../../components/Field.tsx";
import type { TableColumn } from "../../generated/operations.ts";
import { tablesTexts as texts } from "./texts.ts";
import { choiceOf, choicesOf, editorOf, formatArray, parseArray, type TextValue } from "./values.ts";

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
        <Suspense fallback={null}>
          <ReferencePicker
            column={column}
            value={value}
            onChange={onChange}
            {...(props.placeholder ? { placeholder: props.placeholder } : {})}
          />
        </Suspense>
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

/** A date, or a date with time, as its cell shows it; the calendar of the browser can fill it. */
function TimeField(props: ValueFieldProps) {
  const { column, value, onChange } = props;
  const hasZone = column.base_type === "timestamp with time zone";
  const isDate = column.base_type === "date";
  const picker = useRef<HTMLInputElement>(null);
  const pick = (picked: string) => {
    if (picked) onChange(isDate ? picked : `${picked.replace("T", " ")}${hasZone ? localZone() : ""}`);
  };
  return (
    <div className="tables-time">
      <div className="tables-time-text">
        <TextField
          {...props}
          placeholder={props.placeholder ??
            (isDate ? texts.edit.datePattern : hasZone ? `${texts.edit.timePattern}+00` : texts.edit.timePattern)}
        />
      </div>
      <span className="tables-calendar">
        <input
          ref={picker}
          type={isDate ? "date" : "datetime-local"}
          step={isDate ? undefined : 1}
          tabIndex={-1}
          aria-hidden="true"
          value={pickerValue(value, isDate)}
          onChange={(event) => pick(event.target.value)}
        />
        <IconButton
          icon="calendar"
          size="small"
          label={texts.edit.calendar(column.name)}
          onPress={() => picker.current?.showPicker()}
        />
      </span>
      <Button
        size="small"
        onPress={() => onChange(isDate ? nowText().slice(0, 10) : nowText() + (hasZone ? "+00" : ""))}
      >
        {texts.edit.now}
      </Button>
    </div>
  );
}

/** Return what the calendar begins with: the date and time of a value, nothing of one that it cannot show. */
function pickerValue(value: TextValue, isDate: boolean): string {
  const [, date, time = "00:00:00"] = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d))?/.exec(value ?? "") ?? [];
  return date === undefined || value?.endsWith("BC") ? "" : isDate ? date : `${date}T${time}`;
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
