import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Menu } from "../../components/Menu.tsx";
import { UserDialog } from "../../components/UserDialog.tsx";
import type { ViewAsInput } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { tablesTexts as texts } from "./texts.ts";
import { isJson } from "./ValueField.tsx";
import { useCallerName } from "./viewState.ts";

/** Chooses as whom the rows are read: administrator, anon, a user of the project, or a token with claims. */
export function ViewAs({ caller, onChange, hasAdministrator = true }: {
  caller: ViewAsInput | null;
  /** False where there must be a caller whose policies apply. */
  hasAdministrator?: boolean;
  onChange: (caller: ViewAsInput | null) => void;
}) {
  const name = useCallerName(caller);
  const [dialog, setDialog] = useState<"user" | "claims" | null>(null);
  const entries = [
    ...(hasAdministrator ? [{ id: "admin", label: texts.view.admin, onAction: () => onChange(null) }] : []),
    { id: "anon", label: texts.view.anon, onAction: () => onChange({ role: "anon" }) },
    { id: "user", label: `${texts.view.user}…`, onAction: () => setDialog("user") },
    { id: "claims", label: `${texts.view.claims}…`, onAction: () => setDialog("claims") },
  ];
  const close = () => setDialog(null);
  const choose = (chosen: ViewAsInput) => {
    close();
    onChange(chosen);
  };
  return (
    <>
      <Menu
        label={texts.view.label}
        entries={entries}
        button={
          <Button size="small" variant={hasAdministrator ? "quiet" : "plain"} icon="eye">
            {hasAdministrator ? texts.view.label : texts.view.who}: {caller === null ? texts.view.admin : name}
          </Button>
        }
      />
      {dialog === "user" && (
        <UserDialog
          title={texts.view.title}
          text={texts.view.text}
          onChoose={(user) => choose({ role: "authenticated", user_id: user.id })}
          onClose={close}
        />
      )}
      {dialog === "claims" && <ClaimsDialog caller={caller} onChoose={choose} onClose={close} />}
    </>
  );
}

function ClaimsDialog({ caller, onChoose, onClose }: {
  caller: ViewAsInput | null;
  onChoose: (caller: ViewAsInput) => void;
  onClose: () => void;
}) {
  const first = { role: "authenticated", sub: "00000000-0000-0000-0000-000000000001" };
  const [text, setText] = useState(() =>
    JSON.stringify(caller?.claims ? { role: caller.role, ...caller.claims } : first, null, 2)
  );
  const parsed: unknown = isJson(text) ? JSON.parse(text) : null;
  const claims = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)
    ? parsed as NonNullable<ViewAsInput["claims"]>
    : null;
  const submit = () => {
    if (!claims) return;
    const role = claims["role"];
    onChoose({ role: typeof role === "string" ? role : "anon", claims });
  };
  return (
    <Dialog
      title={texts.view.title}
      isOpen
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!claims}>{texts.view.apply}</Button>
        </>
      }
    >
      <p className="soft">{texts.view.text}</p>
      <CodeEditor
        label={texts.view.claimsLabel}
        language="json"
        value={text}
        onChange={setText}
        onRun={submit}
        minHeight="8rem"
        hasFocus
      />
      {!claims && <p className="field-error" role="status">{texts.edit.jsonInvalid}</p>}
    </Dialog>
  );
}
