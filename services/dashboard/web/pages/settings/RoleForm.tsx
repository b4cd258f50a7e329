import { useState } from "react";
import { useChange, useOperation } from "../../api/hooks.ts";
import { Button, IconButton } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { ComboBox, Select } from "../../components/Select.tsx";
import type { AccessLevel, AdministratorRole } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { areas, levelOfRole, levels } from "./roleLevels.ts";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.roles;
const levelChoices = levels.map((id) => ({ id, label: texts.levels[id] }));

/** A new role, or an existing one: a level for each area, and for tables of its own. */
export function RoleForm({ role, onClose }: { role: AdministratorRole | null; onClose: () => void }) {
  const [name, setName] = useState(role?.name ?? "");
  const [chosen, setChosen] = useState<{ readonly [area: string]: AccessLevel }>(role?.areas ?? {});
  const [tables, setTables] = useState<AdministratorRole["tables"]>(role?.tables ?? []);
  const save = useChange("roles.save", {
    invalidates: ["roles.", "administrators.", "account."],
    showsError: true,
    doneText: texts.saved,
    onDone: onClose,
  });
  const setLevel = (area: string, level: AccessLevel) => setChosen((before) => ({ ...before, [area]: level }));
  const isDirty = name !== (role?.name ?? "") || tables !== (role?.tables ?? tables) ||
    areas.some((area) => (chosen[area] ?? "none") !== (role ? levelOfRole(role, area) : "none"));
  return (
    <Dialog
      title={role ? role.name : texts.add}
      isOpen
      size="large"
      isDirty={isDirty}
      onClose={onClose}
      onSubmit={() => name.trim() && save.mutate({ name: name.trim(), areas: { ...chosen }, tables })}
      error={save.error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!name.trim()} isPending={save.isPending}>
            {texts.save}
          </Button>
        </>
      }
    >
      {!role && <Field label={texts.name} value={name} onChange={setName} autoComplete="off" hasFocus />}
      <p className="soft">{texts.formLead}</p>
      <div className="settings-scroll settings-areas" tabIndex={0} role="region" aria-label={texts.matrix}>
        <table className="settings-matrix">
          <thead>
            <tr>
              <th scope="col">{texts.area}</th>
              {levels.map((level) => <th key={level} scope="col">{texts.levels[level]}</th>)}
            </tr>
          </thead>
          <tbody>
            {areas.map((area) => (
              <tr key={area}>
                <th scope="row">{area}</th>
                {levels.map((level) => (
                  <td key={level}>
                    <label className="settings-level">
                      <input
                        type="radio"
                        name={area}
                        aria-label={`${area}: ${texts.levels[level]}`}
                        checked={(chosen[area] ?? "none") === level}
                        onChange={() => setLevel(area, level)}
                      />
                    </label>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <TableLevels tables={tables} onChange={setTables} />
    </Dialog>
  );
}

function TableLevels({ tables, onChange }: {
  tables: AdministratorRole["tables"];
  onChange: (tables: AdministratorRole["tables"]) => void;
}) {
  const own = useOperation("catalog.tables", { schema: "public" }, { staleAfter: 60_000 });
  const names = (own.data ?? []).map((table) => `public.${table.name}`);
  const free = names.filter((name) => !tables.some(({ schema, table }) => `${schema}.${table}` === name));
  const add = (name: string) => {
    const at = name.indexOf(".");
    const [schema, table] = at > 0 ? [name.slice(0, at), name.slice(at + 1)] : ["public", name];
    if (!table || tables.some((other) => other.schema === schema && other.table === table)) return;
    onChange([...tables, { schema, table, level: "read" }]);
  };
  return (
    <fieldset className="settings-tables">
      <legend className="label">{texts.tables}</legend>
      <p className="hint">{texts.tablesHint}</p>
      <ul>
        {tables.map((entry, index) => {
          const name = `${entry.schema}.${entry.table}`;
          return (
            <li key={name} className="settings-row">
              <code>{name}</code>
              <Select
                label={texts.levelOf(name)}
                hidesLabel
                size="small"
                value={entry.level}
                choices={levelChoices}
                onChange={(level) => onChange(tables.with(index, { ...entry, level }))}
              />
              <IconButton
                icon="trash"
                size="small"
                label={texts.removeTable(name)}
                onPress={() => onChange(tables.toSpliced(index, 1))}
              />
            </li>
          );
        })}
      </ul>
      <ComboBox
        key={`${tables.length} ${names.length}`}
        label={texts.addTable}
        value={null}
        choices={free.map((id) => ({ id, label: id }))}
        onChange={add}
        hint={texts.addTableHint}
      />
    </fieldset>
  );
}
