import { useChange, useOperation } from "../../api/hooks.ts";
import { Badge } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Note, QueryView } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import type { VersionDifferences } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import type { Draft } from "./draft.ts";
import { functionsTexts as texts } from "./texts.ts";

/** What a deployment would change, and the deployment. */
export function Deploy({ name, draft, onClose, onDone }: {
  name: string;
  draft: Draft;
  onClose: () => void;
  onDone: () => void;
}) {
  const files = draft.files.map(({ path, text, base64 }) => text === null ? { path, base64 } : { path, text });
  const differences = useOperation("functions.differences", { name, files, settings: draft.settings });
  const deploy = useChange("functions.deploy", {
    invalidates: ["functions."],
    showsError: true,
    onDone: ({ version, warnings }) => {
      toast.done(texts.deployed(version?.number ?? 0));
      for (const warning of warnings) toast.info(warning);
      onDone();
      onClose();
    },
  });
  return (
    <Dialog
      title={texts.deployTitle(name)}
      isOpen
      size="large"
      onClose={onClose}
      isDismissable={false}
      onSubmit={() =>
        differences.data &&
        deploy.mutate({
          name,
          files,
          settings: draft.settings,
          keeps_paths: true,
          base_version: differences.data.before,
        })}
      error={deploy.error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!differences.data || deploy.isPending}>
            {texts.deploy}
          </Button>
        </>
      }
    >
      <QueryView query={differences}>{(data) => <Differences differences={data} />}</QueryView>
    </Dialog>
  );
}

/** Files and settings that differ, line by line. */
export function Differences({ differences: { before, files, settings } }: { differences: VersionDifferences }) {
  const changed = Object.entries(settings);
  return (
    <div className="functions-differences">
      <p className="soft">{texts.against(before)}</p>
      {files.length === 0 && changed.length === 0 && <Note>{texts.same}</Note>}
      {changed.length > 0 && (
        <section aria-label={texts.settingsDiffer}>
          <h3>{texts.settingsDiffer}</h3>
          {changed.map(([setting, [from, to]]) => (
            <p key={setting}>
              <code>{setting}</code>: <del>{JSON.stringify(from)}</del> → <ins>{JSON.stringify(to)}</ins>
            </p>
          ))}
        </section>
      )}
      {files.map(({ path, change, difference }) => (
        <section key={path} aria-label={path}>
          <h3>
            <code>{path}</code> <Badge>{texts.changes[change as keyof typeof texts.changes] ?? change}</Badge>
          </h3>
          {difference === null
            ? <p className="soft">{texts.binary}</p>
            : (
              <pre className="functions-diff" tabIndex={0} role="region" aria-label={path}>
                {difference.split("\n").slice(2).map((line, index) => (
                  <span key={index} className={classOf(line)}>{line + "\n"}</span>
                ))}
              </pre>
            )}
        </section>
      ))}
    </div>
  );
}

function classOf(line: string): string {
  if (line.startsWith("+")) return "functions-added";
  if (line.startsWith("-")) return "functions-removed";
  return line.startsWith("@@") ? "faint" : "";
}
