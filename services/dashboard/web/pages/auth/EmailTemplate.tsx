import { dashboardUrl } from "../../api/address.ts";
import { useDelayed } from "../../api/delayed.ts";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { ForeignHtml } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { useKept } from "../../components/kept.ts";
import { ErrorNote, Note } from "../../components/states.tsx";
import type { EmailTemplateDescription, SettingsList } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { emailName } from "./Emails.tsx";
import { SettingRows } from "./SettingRows.tsx";
import { authTexts } from "./texts.ts";

const texts = authTexts.emails;

interface EmailTemplateProps {
  template: EmailTemplateDescription;
  settings: SettingsList;
  onClose: () => void;
}

interface Draft {
  subject: string;
  html: string;
}

/** One email: subject and HTML, with a preview of what is typed beside it. */
export default function EmailTemplate({ template, settings, onClose }: EmailTemplateProps) {
  const { kind } = template;
  const storedHtml = template.html || template.default_html;
  const [draft, setDraft] = useKept<Draft | null>(`email:${kind}`, () => null);
  const { subject, html } = draft ?? { subject: template.subject, html: storedHtml };
  const edit = (part: Partial<Draft>) => setDraft((before) => ({ subject, html, ...before, ...part }));
  const mayChange = useMay("settings.change");
  const invalidates = ["mail.templates", "mail.preview", "settings."] as const;
  const change = useChange("settings.change", { invalidates, showsError: true, doneText: texts.saved });
  const forget = () => setDraft(() => null);
  const reset = useChange("settings.reset", {
    invalidates,
    showsError: true,
    doneText: texts.resetDone,
    onDone: forget,
  });
  const test = useChange("mail.send_test", { showsError: true, doneText: ({ to }) => texts.tested(to) });
  const [subjectKey, contentKey] = [`${template.settings}.subject`, `${template.settings}.content`];
  const { version } = settings;
  const stored = settings.settings.filter(({ key, database }) =>
    (key === subjectKey || key === contentKey) && database?.is_set
  ).map(({ key }) => key);
  const changes = {
    ...(subject === template.subject ? {} : { [subjectKey]: subject }),
    ...(html === storedHtml ? {} : { [contentKey]: html }),
  };
  const isChanged = Object.keys(changes).length > 0;
  return (
    <Dialog
      title={emailName(kind)}
      isOpen
      size="large"
      onClose={onClose}
      error={change.error ?? reset.error ?? test.error}
      footer={
        <>
          {mayChange && (
            <Button
              icon="send"
              isDisabled={isChanged}
              isPending={test.isPending}
              onPress={() => test.mutate({ kind })}
            >
              {texts.test}
            </Button>
          )}
          {mayChange && stored.length > 0 && (
            <Button
              icon="restore"
              isPending={reset.isPending}
              onPress={() => reset.mutate({ version, keys: stored })}
            >
              {texts.reset}
            </Button>
          )}
          <Button onPress={onClose}>{shellTexts.actions.close}</Button>
          {mayChange && (
            <Button
              variant="primary"
              isDisabled={!isChanged}
              isPending={change.isPending}
              onPress={() => change.mutate({ version, values: changes }, { onSuccess: forget })}
            >
              {texts.save}
            </Button>
          )}
        </>
      }
    >
      {isChanged && mayChange && (
        <Note>
          {texts.draft} <Button size="small" variant="quiet" onPress={forget}>{texts.discard}</Button>
        </Note>
      )}
      {template.place && <Note>{texts.elsewhere(template.place)}</Note>}
      {kind.endsWith("_notification") && (
        <div className="auth-panel">
          <SettingRows data={settings} group={{ id: kind, keys: [`${template.settings}.enabled`] }} />
        </div>
      )}
      <div className="auth-template">
        <div className="auth-template-part">
          <Field
            label={texts.subject}
            value={subject}
            onChange={(text) => edit({ subject: text })}
            isReadOnly={!mayChange}
            hasFocus
          />
          <CodeEditor
            label={texts.html}
            value={html}
            onChange={(text) => edit({ html: text })}
            language="html"
            isReadOnly={!mayChange}
            minHeight="18rem"
            maxHeight="26rem"
          />
          <div>
            <h3>{texts.variables}</h3>
            <div className="auth-variables">
              {template.variables.map((variable) => (
                <code key={variable}>{`{{ .${variable.replace(/^\./, "")} }}`}</code>
              ))}
            </div>
          </div>
        </div>
        <Preview kind={kind} subject={subject} html={html} />
      </div>
      {mayChange && <p className="hint">{texts.testHint}</p>}
    </Dialog>
  );
}

function Preview({ kind, subject, html }: { kind: string; subject: string; html: string }) {
  const content = useDelayed(html);
  const title = useDelayed(subject);
  const preview = useOperation("mail.preview", { kind, subject: title, content }, { keepsPrevious: true });
  return (
    <div className="auth-template-part">
      <div>
        <h3>{texts.preview}</h3>
        <p role="status">{preview.data?.subject}</p>
      </div>
      {preview.error && <ErrorNote error={preview.error} />}
      {preview.data && (
        <ForeignHtml html={preview.data.html} title={texts.previewOf(kind)} src={`${dashboardUrl}frame`} />
      )}
    </div>
  );
}
