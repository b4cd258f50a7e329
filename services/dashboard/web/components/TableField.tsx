import { useOperation } from "../api/hooks.ts";
import { quotedName } from "../sqlName.ts";
import { ComboBox } from "./Select.tsx";

/** A table as `schema.table`: those of the schema and the users to choose from, others typed. */
export function TableField({ label, schema, value, onChange }: {
  label: string;
  schema: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const tables = useOperation("catalog.tables", { schema }, { staleAfter: 60_000 });
  const own = (tables.data ?? []).filter(({ kind }) => kind.includes("table")).map(({ name }) =>
    `${quotedName(schema)}.${quotedName(name)}`
  );
  const choices = [...own, "auth.users"].map((id) => ({ id, label: id }));
  return (
    <ComboBox
      key={choices.length}
      label={label}
      choices={choices}
      value={value}
      onChange={onChange}
      allowsOther
    />
  );
}
