import { useState } from "react";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Card } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { Menu } from "../../components/Menu.tsx";
import { QueryView } from "../../components/states.tsx";
import type { AdministratorRole, Right } from "../../generated/operations.ts";
import { RoleForm } from "./RoleForm.tsx";
import { areas, levelOfRights, levelOfRole } from "./roleLevels.ts";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.roles;
const rights: readonly Right[] = ["owner", "developer", "reader"];

/** The rights and the roles side by side: what each may do in which area, and with which tables. */
export default function Roles() {
  const roles = useOperation("roles.list", {});
  const mayChange = useMay("roles.save");
  const [edited, setEdited] = useState<AdministratorRole | "new" | null>(null);
  return (
    <>
      <p className="settings-lead soft">{texts.lead}</p>
      <QueryView query={roles}>
        {(list) => (
          <Card
            title={settingsTexts.tabs.roles}
            isFlush
            actions={mayChange && <Button size="small" icon="plus" onPress={() => setEdited("new")}>{texts.add}
            </Button>}
          >
            <div className="settings-scroll" tabIndex={0} role="region" aria-label={texts.matrix}>
              <table className="settings-matrix">
                <thead>
                  <tr>
                    <th scope="col">{texts.area}</th>
                    {rights.map((right) => (
                      <th key={right} scope="col">{settingsTexts.administrators.rightsNames[right]}</th>
                    ))}
                    {list.map((role) => (
                      <th key={role.name} scope="col">
                        <span className="settings-row">
                          {role.name}
                          {mayChange && <RoleMenu role={role} onEdit={() => setEdited(role)} />}
                        </span>
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {areas.map((area) => (
                    <tr key={area}>
                      <th scope="row">{area}</th>
                      {rights.map((right) => <Level key={right} level={levelOfRights(right, area)} />)}
                      {list.map((role) => <Level key={role.name} level={levelOfRole(role, area)} />)}
                    </tr>
                  ))}
                  <tr>
                    <th scope="row">{texts.tables}</th>
                    {rights.map((right) => <td key={right} className="faint">{texts.asRows}</td>)}
                    {list.map((role) => (
                      <td key={role.name}>
                        {role.tables.length === 0 ? <span className="faint">{texts.asRows}</span> : (
                          <ul>
                            {role.tables.map(({ schema, table, level }) => (
                              <li key={`${schema} ${table}`}>{`${schema}.${table}: ${texts.levels[level]}`}</li>
                            ))}
                          </ul>
                        )}
                      </td>
                    ))}
                  </tr>
                </tbody>
              </table>
            </div>
          </Card>
        )}
      </QueryView>
      {edited !== null && <RoleForm role={edited === "new" ? null : edited} onClose={() => setEdited(null)} />}
    </>
  );
}

function Level({ level }: { level: keyof typeof texts.levels }) {
  return <td className={level === "none" ? "faint" : ""}>{texts.levels[level]}</td>;
}

function RoleMenu({ role, onEdit }: { role: AdministratorRole; onEdit: () => void }) {
  const remove = useChange("roles.remove", { invalidates: ["roles."], doneText: texts.removed(role.name) });
  const onRemove = async () => {
    const question = { title: texts.remove, body: texts.removeText, names: [role.name], action: texts.remove };
    if (await confirm(question)) remove.mutate({ name: role.name });
  };
  const label = texts.more(role.name);
  return (
    <Menu
      label={label}
      button={<IconButton icon="more" size="small" label={label} />}
      entries={[
        { id: "edit", label: texts.edit, icon: "edit", onAction: onEdit },
        { id: "remove", label: texts.remove, icon: "trash", isDanger: true, onAction: () => void onRemove() },
      ]}
    />
  );
}
