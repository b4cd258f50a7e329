import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Dialog } from "../../components/Dialog.tsx";
import { QueryView } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import type { ProjectUserDetails } from "../../generated/operations.ts";
import { ActAs } from "./ActAs.tsx";
import { Access } from "./Access.tsx";
import { BanUser } from "./BanUser.tsx";
import { EditUser } from "./EditUser.tsx";
import { Metadata } from "./Metadata.tsx";
import { nameOf } from "./names.tsx";
import { Overview } from "./Overview.tsx";
import { SetPassword } from "./SetPassword.tsx";
import { usersTexts as texts } from "./texts.ts";
import { UserActions } from "./UserActions.tsx";
import { UserAudit } from "./UserAudit.tsx";

/** What is open over the detail. */
export type UserDialog = "edit" | "password" | "ban" | "actAs";

const dialogs = { edit: EditUser, password: SetPassword, ban: BanUser, actAs: ActAs } as const;

/** One user beside the list. */
export function UserDetail({ id, onClose }: { id: string; onClose: () => void }) {
  const details = useOperation("users.read", { id });
  return (
    <Dialog
      title={details.data ? nameOf(details.data.user) : texts.user}
      isOpen
      size="side"
      onClose={onClose}
    >
      <QueryView query={details}>{(data) => <Parts details={data} onClose={onClose} />}</QueryView>
    </Dialog>
  );
}

function Parts({ details, onClose }: { details: ProjectUserDetails; onClose: () => void }) {
  const { user, audit } = details;
  const [search, changeSearch] = useSearch();
  const [open, setOpen] = useState<UserDialog | null>(null);
  const mayChange = useMay("users.change");
  const tabs = [
    { id: "overview", title: texts.tabs.overview, content: <Overview user={user} /> },
    {
      id: "metadata",
      title: texts.tabs.metadata,
      content: <Metadata user={user} mayChange={mayChange} />,
    },
    { id: "access", title: texts.tabs.access, content: <Access user={user} mayChange={mayChange} /> },
    { id: "audit", title: texts.tabs.audit, content: <UserAudit entries={audit} /> },
  ];
  const OpenDialog = open && dialogs[open];
  return (
    <>
      {mayChange && <UserActions user={user} onOpen={setOpen} onDeleted={onClose} />}
      <Tabs
        label={texts.user}
        tabs={tabs}
        selected={tabs.find(({ id }) => id === search["tab"])?.id ?? "overview"}
        onSelect={(tab) => changeSearch({ tab: tab === "overview" ? null : tab })}
      />
      {OpenDialog && <OpenDialog user={user} onClose={() => setOpen(null)} />}
    </>
  );
}
