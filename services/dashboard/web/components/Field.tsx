import { type ReactNode, useId, useState } from "react";
import { Checkbox as AriaCheckbox } from "react-aria-components/Checkbox";
import { FieldError } from "react-aria-components/FieldError";
import { Input } from "react-aria-components/Input";
import { Label } from "react-aria-components/Label";
import { Switch as AriaSwitch } from "react-aria-components/Switch";
import { Text } from "react-aria-components/Text";
import { TextArea } from "react-aria-components/TextArea";
import { TextField } from "react-aria-components/TextField";
import { texts } from "../texts.ts";
import { IconButton } from "./Button.tsx";
import { Icon } from "./Icon.tsx";

export interface FieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** A sentence below the field: what it does, which unit it has. */
  hint?: ReactNode;
  /** What is wrong with the value; the field is marked, and screen readers read it. */
  error?: string | undefined;
  type?: "text" | "email" | "password" | "number" | "url" | "search" | "date" | "datetime-local";
  /** More than one line: the number of lines. */
  lines?: number;
  placeholder?: string;
  autoComplete?: string;
  inputMode?: "text" | "numeric" | "decimal" | "email" | "url" | "search";
  isRequired?: boolean;
  isDisabled?: boolean;
  isReadOnly?: boolean;
  /** In the font of code: names, expressions, ids. */
  isCode?: boolean;
  /** The label is read, not shown, where the place says what the field is. */
  hidesLabel?: boolean;
  hasFocus?: boolean;
  name?: string;
}

/** A field of text with its label, hint and error. */
export function Field(props: FieldProps) {
  const { label, value, onChange, hint, error, type = "text", lines, hidesLabel, isCode } = props;
  const [isShown, setShown] = useState(false);
  const shared = { placeholder: props.placeholder, className: `input${isCode ? " code" : ""}` };
  return (
    <TextField
      className="field"
      value={value}
      onChange={onChange}
      type={type === "password" && isShown ? "text" : type}
      isRequired={props.isRequired ?? false}
      isDisabled={props.isDisabled ?? false}
      isReadOnly={props.isReadOnly ?? false}
      isInvalid={error !== undefined && error !== ""}
      autoFocus={props.hasFocus ?? false}
      validationBehavior="aria"
      {...(props.name ? { name: props.name } : {})}
      {...(props.autoComplete ? { autoComplete: props.autoComplete } : {})}
      {...(props.inputMode ? { inputMode: props.inputMode } : {})}
      {...(isCode ? { spellCheck: "false" as const } : {})}
    >
      <Label className={hidesLabel ? "for-readers" : "label"}>{label}</Label>
      {lines ? <TextArea {...shared} rows={lines} /> : type === "password"
        ? (
          <div className="input-row">
            <Input {...shared} />
            <IconButton
              icon={isShown ? "eyeOff" : "eye"}
              label={isShown ? texts.actions.hide : texts.actions.show}
              size="small"
              onPress={() => setShown(!isShown)}
            />
          </div>
        )
        : <Input {...shared} />}
      {hint && <Text slot="description" className="hint">{hint}</Text>}
      <FieldError className="field-error">{error}</FieldError>
    </TextField>
  );
}

/** A field that searches: it clears with Esc or its button. */
export function SearchField(
  { label, value, onChange, placeholder, hasFocus }: {
    label: string;
    value: string;
    onChange: (value: string) => void;
    placeholder?: string;
    hasFocus?: boolean;
  },
) {
  const id = useId();
  return (
    <div className="search-field">
      <Icon name="search" />
      <label htmlFor={id} className="for-readers">{label}</label>
      <input
        id={id}
        className="input"
        type="text"
        role="searchbox"
        value={value}
        placeholder={placeholder ?? label}
        autoComplete="off"
        spellCheck={false}
        ref={hasFocus ? focusOnce : null}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !value) return;
          event.stopPropagation();
          onChange("");
        }}
      />
      {value && <IconButton icon="close" label={texts.actions.clear} size="small" onPress={() => onChange("")} />}
    </div>
  );
}

function focusOnce(element: HTMLElement | null): void {
  element?.focus();
}

/** A box to tick, with its text. */
export function Checkbox(
  { children, isSelected, onChange, isIndeterminate, isDisabled, label }: {
    children?: ReactNode;
    isSelected: boolean;
    onChange: (isSelected: boolean) => void;
    isIndeterminate?: boolean;
    isDisabled?: boolean;
    /** The name, where there is no text beside the box. */
    label?: string;
  },
) {
  return (
    <AriaCheckbox
      className="checkbox"
      isSelected={isSelected}
      onChange={onChange}
      isIndeterminate={isIndeterminate ?? false}
      isDisabled={isDisabled ?? false}
      {...(label ? { "aria-label": label } : {})}
    >
      <span className="checkbox-box">
        {isIndeterminate ? <Icon name="minus" size={12} /> : isSelected && <Icon name="check" size={12} />}
      </span>
      {children && <span>{children}</span>}
    </AriaCheckbox>
  );
}

/** A switch: it acts at once, unlike a checkbox of a form. */
export function Switch(
  { children, isSelected, onChange, isDisabled }: {
    children: ReactNode;
    isSelected: boolean;
    onChange: (isSelected: boolean) => void;
    isDisabled?: boolean;
  },
) {
  return (
    <AriaSwitch className="switch" isSelected={isSelected} onChange={onChange} isDisabled={isDisabled ?? false}>
      <span className="switch-track" />
      <span>{children}</span>
    </AriaSwitch>
  );
}
