import { lazy, Suspense } from "react";
import { useGo, useSubpath } from "../../address.tsx";
import { useChange, useMay } from "../../api/hooks.ts";
import { PageHeader, Tabs } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Loading } from "../../components/states.tsx";
import { useCommands } from "../../shell/commands.ts";
import { backupsTexts as texts } from "./texts.ts";
import "./backups.css";

const parts = { folder: lazy(() => import("./Folder.tsx")), continuous: lazy(() => import("./Continuous.tsx")) };
type Part = keyof typeof parts;
const ids = Object.keys(parts) as Part[];

/** Backups into a folder, and continuous backup with the moments that it can bring back. */
export default function BackupsPage() {
  const [part] = useSubpath();
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
      <Tabs
        label={texts.title}
        selected={ids.find((id) => id === part) ?? "folder"}
        onSelect={(id) => go(id === "folder" ? "backups" : `backups/${id}`)}
        tabs={ids.map((id) => {
          const Content = parts[id];
          return {
            id,
            title: texts.tabs[id],
            content: (
              <Suspense fallback={<Loading />}>
                <Content />
              </Suspense>
            ),
          };
        })}
      />
    </>
  );
}
