import type { ReactNode } from "react";
import { Button as AriaButton } from "react-aria-components/Button";
import { ComboBox as AriaComboBox } from "react-aria-components/ComboBox";
import { Input } from "react-aria-components/Input";
import { Label } from "react-aria-components/Label";
import { ListBox, ListBoxItem } from "react-aria-components/ListBox";
import { Popover } from "react-aria-components/Popover";
import { Select as AriaSelect, SelectValue } from "react-aria-components/Select";
import { Text } from "react-aria-components/Text";
import { Icon } from "./Icon.tsx";

export interface Choice<K extends string = string> {
  id: K;
  label: string;
  /** A second line that explains the choice. */
  hint?: string;
}

export interface SelectProps<K extends string> {
  label: string;
  choices: readonly Choice<K>[];
  value: K | null;
  onChange: (value: K) => void;
  hint?: ReactNode;
  placeholder?: string;
  hidesLabel?: boolean;
  isDisabled?: boolean;
  size?: "small" | "normal";
}

/** One of a few choices. More than about 20: `ComboBox`, which searches. */
export function Select<K extends string>(props: SelectProps<K>) {
  const { label, choices, value, onChange, hint, placeholder, hidesLabel, isDisabled, size = "normal" } = props;
  return (
    <AriaSelect
      className="field"
      value={value}
      onChange={(key) => key !== null && onChange(key as K)}
      isDisabled={isDisabled ?? false}
      {...(placeholder ? { placeholder } : {})}
    >
      <Label className={hidesLabel ? "for-readers" : "label"}>{label}</Label>
      <AriaButton className={`button button-plain button-${size} select-button`}>
        <SelectValue className="cut" />
        <Icon name="chevronDown" size={12} />
      </AriaButton>
      {hint && <Text slot="description" className="hint">{hint}</Text>}
      <Popover className="popover" offset={4}>
        <ChoiceList choices={choices} />
      </Popover>
    </AriaSelect>
  );
}

/** One of many choices, found by typing a part of its name. With `allowsOther` the typed text itself is a value. */
export function ComboBox<K extends string>(
  { allowsOther, ...props }: SelectProps<K> & { allowsOther?: boolean },
) {
  const { label, choices, value, onChange, hint, placeholder, hidesLabel, isDisabled } = props;
  return (
    <AriaComboBox
      className="field"
      defaultItems={choices}
      selectedKey={choices.some((choice) => choice.id === value) ? value : null}
      onSelectionChange={(key) => key !== null && onChange(key as K)}
      {...(allowsOther ? { inputValue: value ?? "", onInputChange: (text: string) => onChange(text as K) } : {})}
      allowsCustomValue={allowsOther ?? false}
      isDisabled={isDisabled ?? false}
      menuTrigger="focus"
    >
      <Label className={hidesLabel ? "for-readers" : "label"}>{label}</Label>
      <div className="input-row">
        <Input className="input" {...(placeholder ? { placeholder } : {})} />
        <AriaButton className="button button-icon button-quiet button-small">
          <Icon name="chevronDown" size={12} />
        </AriaButton>
      </div>
      {hint && <Text slot="description" className="hint">{hint}</Text>}
      <Popover className="popover" offset={4}>
        <ListBox className="choices">{(choice: Choice<K>) => <ChoiceItem choice={choice} />}</ListBox>
      </Popover>
    </AriaComboBox>
  );
}

function ChoiceList({ choices }: { choices: readonly Choice[] }) {
  return <ListBox className="choices" items={choices}>{(choice: Choice) => <ChoiceItem choice={choice} />}</ListBox>;
}

function ChoiceItem({ choice }: { choice: Choice }) {
  return (
    <ListBoxItem id={choice.id} textValue={choice.label} className="choice">
      <Text slot="label">{choice.label}</Text>
      {choice.hint && <Text slot="description" className="hint">{choice.hint}</Text>}
    </ListBoxItem>
  );
}
