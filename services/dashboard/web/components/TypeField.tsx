import { useDelayed } from "../api/delayed.ts";
import { useOperation } from "../api/hooks.ts";
import { defineTexts } from "../texts.ts";
import { quotedName } from "../sqlName.ts";
import { ComboBox } from "./Select.tsx";

const texts = defineTexts("types", { unknown: (name: string) => `There is no type ${name}` });

/** Its texts, for translations. */
export type TypeFieldTexts = typeof texts;

const commonTypes = [
  "bigint",
  "integer",
  "numeric",
  "text",
  "boolean",
  "uuid",
  "timestamptz",
  "date",
  "time",
  "jsonb",
  "double precision",
  "text[]",
  "bytea",
  "inet",
];
/** A type that was looked up is not asked for again for this long. */
const knownForMs = 60_000;

/** The type of a column: common ones and those of the schema to choose from, others typed; an unknown one is found while typing. */
export function TypeField({ label, schema, value, onChange }: {
  label: string;
  schema: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const types = useOperation("catalog.types", { schemas: [schema] }, { staleAfter: knownForMs });
  const own = (types.data ?? []).filter(({ kind }) => kind !== "composite").map((type) => {
    const name = `${quotedName(type.schema)}.${quotedName(type.name)}`;
    return { id: name, label: name, hint: type.kind };
  });
  const choices = [...commonTypes.map((type) => ({ id: type, label: type })), ...own];
  const text = useDelayed(value.trim());
  const match = useOperation("catalog.find_type", { text }, {
    isEnabled: text !== "" && !choices.some(({ id }) => id === text),
    staleAfter: knownForMs,
  });
  const isUnknown = match.data?.is_known === false && text === value.trim();
  return (
    <ComboBox
      key={choices.length}
      label={label}
      choices={choices}
      value={value}
      onChange={onChange}
      allowsOther
      {...(isUnknown ? { hint: <span className="field-error" role="alert">{texts.unknown(text)}</span> } : {})}
    />
  );
}
