import { lazy } from "react";
import { useGo } from "../../address.tsx";
import { useChange, useMay } from "../../api/hooks.ts";
import { PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { PageTabs } from "../../components/PageTabs.tsx";
import { useCommands } from "../../shell/commands.ts";
import { backupsTexts as texts } from "./texts.ts";
import "./backups.css";

const parts = { folder: lazy(() => import("./Folder.tsx")), continuous: lazy(() => import("./Continuous.tsx")) };

/** Backups into a folder, and continuous backup with the moments that it can bring back. */
export default function BackupsPage() {
  const go = useGo();
  const mayCreate = useMay("backups.create");
  const create = useChange("backups.create", {
    invalidates: ["backups."],
    onDone: () => go("backups"),
  });
  const onCreate = () => create.mutate({});
  useCommands(mayCreate ? [{ id: "backups.create", label: texts.create, run: onCreate }] : []);
  return (
    <>
      <PageHeader
        title={texts.title}
        actions={mayCreate && (
          <Button variant="primary" icon="archive" isPending={create.isPending} onPress={onCreate}>
            {texts.create}
          </Button>
        )}
      />
      <PageTabs path="backups" label={texts.title} parts={parts} titles={texts.tabs} />
    </>
  );
}
