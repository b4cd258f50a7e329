/** Chooses a schema: those of the project first; those of the platform after they were asked for. */

import { useState } from "react";
import { useOperation } from "../api/hooks.ts";
import { Link } from "../address.tsx";
import { formatNumber } from "../format.ts";
import { defineTexts } from "../texts.ts";
import { ComboBox, Select } from "./Select.tsx";
import { EmptyState } from "./states.tsx";

const texts = defineTexts("schemas", {
  schema: "Schema",
  platform: (count: number) => `Show ${count} schemas of the platform`,
  ofPlatform: "of the platform",
  unknown: (name: string) => `There is no schema ${name}`,
  unknownText: "It may have been renamed or dropped, or the address is mistyped.",
  toPublic: "Go to the schema public",
});

/** Its texts, for translations. */
export type SchemaChooserTexts = typeof texts;

const showPlatform = "\0platform";
/** More choices than this are searched by typing. */
const mostInList = 20;

function useSchemas() {
  return useOperation("catalog.schemas", {}, { staleAfter: 60_000 });
}

/** Return whether the database has no such schema; false until that is known. */
export function useIsUnknownSchema(name: string): boolean {
  const schemas = useSchemas();
  return schemas.data !== undefined && !schemas.data.some((schema) => schema.name === name);
}

export function SchemaChooser({ value, onChange }: { value: string; onChange: (schema: string) => void }) {
  const [isAll, setAll] = useState(false);
  const schemas = useSchemas();
  const all = schemas.data ?? [];
  const own = all.filter(({ is_platform, name }) => !is_platform || name === value);
  const others = all.filter((schema) => !own.includes(schema));
  const choices = [
    ...(all.some(({ name }) => name === value) ? [] : [{ id: value, label: value }]),
    ...(isAll ? [...own, ...others] : own).map(({ name, tables, is_platform: isPlatform }) => ({
      id: name,
      label: name,
      hint: isPlatform ? texts.ofPlatform : formatNumber(tables),
    })),
    ...(isAll || others.length === 0 ? [] : [{ id: showPlatform, label: texts.platform(others.length) }]),
  ];
  const choose = (name: string) => {
    if (name === showPlatform) setAll(true);
    else if (name !== value) onChange(name);
  };
  const Chooser = choices.length > mostInList ? ComboBox : Select;
  return (
    <Chooser
      key={`${choices.length} ${isAll}`}
      label={texts.schema}
      hidesLabel
      choices={choices}
      value={value}
      onChange={choose}
    />
  );
}

/** In the place of a schema that the address names and the database does not have. */
export function NoSchema({ name, to }: { name: string; to: string }) {
  return (
    <EmptyState icon="search" title={texts.unknown(name)} action={<Link to={to}>{texts.toPublic}</Link>}>
      {texts.unknownText}
    </EmptyState>
  );
}
