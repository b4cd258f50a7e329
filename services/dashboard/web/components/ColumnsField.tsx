import { useId } from "react";
import { useOperation } from "../api/hooks.ts";
import { defineTexts } from "../texts.ts";
import { Checkbox } from "./Field.tsx";

const texts = defineTexts("columnsField", {
  none: "None is chosen",
  chosen: (names: readonly string[]) => `In this order: ${names.join(", ")}`,
});

/** Its texts, for translations. */
export type ColumnsFieldTexts = typeof texts;

/** Columns of a table, in the order in which they are chosen. */
export function ColumnsField({ label, schema, table, value, onChange, hint }: {
  label: string;
  schema: string;
  /** Empty as long as the table is not known. */
  table: string;
  value: readonly string[];
  onChange: (value: readonly string[]) => void;
  hint?: string;
}) {
  const relation = useOperation("catalog.relation", { schema, name: table }, {
    isEnabled: table !== "",
    staleAfter: 60_000,
  });
  const id = useId();
  const columns = relation.data?.columns ?? [];
  return (
    <div className="field" role="group" aria-labelledby={id}>
      <span id={id} className="label">{label}</span>
      <div className="columns-field">
        {columns.map(({ name }) => (
          <Checkbox
            key={name}
            isSelected={value.includes(name)}
            onChange={(isOn) => onChange(isOn ? [...value, name] : value.filter((other) => other !== name))}
          >
            {name}
          </Checkbox>
        ))}
      </div>
      <span className="hint">{value.length > 0 ? texts.chosen(value) : hint ?? texts.none}</span>
    </div>
  );
}
