import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { CodeEditor, type Language } from "../../components/CodeEditor.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { Menu } from "../../components/Menu.tsx";
import { Note } from "../../components/states.tsx";
import { texts as shared } from "../../texts.ts";
import type { Draft, DraftFile } from "./draft.ts";
import { functionsTexts as texts } from "./texts.ts";

/** The files of a function beside an editor; changes stay a draft until they are deployed. */
export function Code({ name, draft, onChange, onDeploy, mayEdit }: {
  name: string;
  draft: Draft;
  onChange: (changes: Partial<Draft>) => void;
  onDeploy: () => void;
  mayEdit: boolean;
}) {
  const [search, changeSearch] = useSearch();
  const [naming, setNaming] = useState<DraftFile | "new" | null>(null);
  const own = `functions/${name}/`;
  const shown = (path: string) => path.startsWith(own) ? path.slice(own.length) : path;
  const file = draft.files.find(({ path }) => path === search["file"]) ??
    draft.files.find(({ path }) => path === draft.settings.entrypoint) ??
    draft.files.find(({ path }) => path.startsWith(`${own}index.`)) ?? draft.files[0];
  const imports = `${own}deno.json`;
  const put = (added: DraftFile, without?: string) => {
    const rest = draft.files.filter(({ path }) => path !== without && path !== added.path);
    onChange({ files: [...rest, added].sort((one, other) => one.path < other.path ? -1 : 1) });
  };
  const remove = async ({ path }: DraftFile) => {
    const question = { title: texts.removeFile, body: texts.removeFileText, names: [path], action: texts.removeFile };
    if (await confirm(question)) onChange({ files: draft.files.filter((other) => other.path !== path) });
  };
  const save = (path: string) => {
    if (naming === "new") put({ path, text: "", base64: null });
    else if (naming) put({ ...naming, path }, naming.path);
    changeSearch({ file: path });
    setNaming(null);
  };
  return (
    <div className="functions-code">
      <nav className="functions-files" aria-label={texts.files}>
        <ul>
          {draft.files.map((row) => (
            <li key={row.path} className={row === file ? "functions-file functions-current" : "functions-file"}>
              <button
                type="button"
                className="cut"
                title={row.path}
                aria-current={row === file ? "page" : undefined}
                onClick={() =>
                  changeSearch({ file: row.path })}
              >
                {shown(row.path)}
              </button>
              {mayEdit && (
                <Menu
                  label={row.path}
                  button={<IconButton icon="more" size="small" label={texts.fileActions(shown(row.path))} />}
                  entries={[
                    {
                      id: "rename",
                      label: texts.renameFile,
                      icon: "edit",
                      onAction: () => setNaming(row),
                    },
                    {
                      id: "remove",
                      label: texts.removeFile,
                      icon: "trash",
                      isDanger: true,
                      isDisabled: draft.files.length === 1,
                      onAction: () =>
                        void remove(row),
                    },
                  ]}
                />
              )}
            </li>
          ))}
        </ul>
        {mayEdit && (
          <div className="functions-add">
            <Button size="small" icon="plus" onPress={() => setNaming("new")}>{texts.newFile}</Button>
            {!draft.files.some(({ path }) => path === imports) && (
              <Button
                size="small"
                variant="quiet"
                onPress={() => {
                  put({ path: imports, text: '{\n  "imports": {}\n}\n', base64: null });
                  changeSearch({ file: imports });
                }}
              >
                {texts.addImports}
              </Button>
            )}
          </div>
        )}
      </nav>
      <div className="functions-editor">
        {file && (file.text === null ? <Note>{texts.bytes}</Note> : (
          <CodeEditor
            key={file.path}
            label={texts.editor(shown(file.path))}
            language={languageOf(file.path)}
            value={file.text}
            isReadOnly={!mayEdit}
            onChange={(text) => text !== file.text && put({ ...file, text })}
            onRun={onDeploy}
            minHeight="24rem"
            maxHeight="calc(100vh - 16rem)"
          />
        ))}
      </div>
      {naming && (
        <FileName
          own={own}
          path={naming === "new" ? "" : shown(naming.path)}
          title={naming === "new" ? texts.newFile : texts.renameFile}
          taken={draft.files.map(({ path }) => path).filter((path) => naming === "new" || path !== naming.path)}
          onClose={() => setNaming(null)}
          onName={save}
        />
      )}
    </div>
  );
}

function languageOf(path: string): Language {
  if (/\.[cm]?[jt]sx?$/.test(path)) return "typescript";
  if (/\.jsonc?$/.test(path)) return "json";
  if (/\.sql$/.test(path)) return "sql";
  return /\.html?$/.test(path) ? "html" : "text";
}

function FileName({ own, path, title, taken, onClose, onName }: {
  own: string;
  path: string;
  title: string;
  taken: readonly string[];
  onClose: () => void;
  onName: (path: string) => void;
}) {
  const [value, setValue] = useState(path);
  const whole = value.startsWith("functions/") ? value : own + value;
  const isBad = taken.includes(whole) || value.includes("\\") ||
    value.split("/").some((part) => ["", ".", ".."].includes(part));
  return (
    <Dialog
      title={title}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() => !isBad && onName(whole)}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={isBad}>{title}</Button>
        </>
      }
    >
      <Field
        label={texts.path}
        value={value}
        onChange={setValue}
        hint={texts.pathHint}
        error={value && isBad ? texts.badPath : undefined}
        autoComplete="off"
        isCode
        hasFocus
      />
    </Dialog>
  );
}
