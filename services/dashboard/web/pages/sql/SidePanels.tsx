/** Panels at the edge: the snippets of the project folder, and what was run in this browser. */

import { useState } from "react";
import { run } from "../../api/client.ts";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { SearchField } from "../../components/Field.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { toast } from "../../components/toasts.ts";
import { formatBytes, formatMs } from "../../format.ts";
import type { PastRun } from "./openTexts.ts";
import { sqlTexts as texts } from "./texts.ts";

/** The snippets; one is opened by its name. */
export function Snippets({ onClose, onOpen }: { onClose: () => void; onOpen: (name: string, sql: string) => void }) {
  const [search, setSearch] = useState("");
  const snippets = useOperation("snippets.list", {});
  const remove = useChange("snippets.remove", {
    invalidates: ["snippets."],
    doneText: (_, { name }) => texts.removed(name),
  });
  const mayRemove = useMay("snippets.remove");
  const open = (name: string) =>
    run("snippets.read", { name }).then((snippet) => onOpen(snippet.name, snippet.text)).catch(toast.error);
  const onRemove = async (name: string) => {
    const question = { title: texts.removeSnippet(name), body: texts.removeText, names: [name], action: texts.remove };
    if (await confirm(question)) remove.mutate({ name });
  };
  return (
    <Dialog title={texts.snippets} isOpen onClose={onClose} size="side">
      <QueryView query={snippets}>
        {(list) => {
          if (!list.folder_is_known) {return (
              <EmptyState icon="folder" title={texts.noFolder}>{texts.noFolderText}</EmptyState>
            );}
          if (list.snippets.length === 0) {
            return <EmptyState icon="file" title={texts.noSnippets}>{texts.noSnippetsText}</EmptyState>;
          }
          const shown = list.snippets.filter((snippet) => snippet.name.toLowerCase().includes(search.toLowerCase()));
          return (
            <>
              <div className="sql-find">
                <SearchField label={texts.findSnippet} value={search} onChange={setSearch} />
              </div>
              <ul className="sql-list">
                {shown.map((snippet) => (
                  <li key={snippet.name}>
                    <button type="button" className="sql-list-open" onClick={() => void open(snippet.name)}>
                      <span className="cut">{snippet.name}</span>
                      <span className="faint">
                        {formatBytes(snippet.bytes)} · <Time value={snippet.changed_at} />
                      </span>
                    </button>
                    {mayRemove && (
                      <IconButton
                        icon="trash"
                        size="small"
                        label={texts.removeSnippet(snippet.name)}
                        onPress={() => void onRemove(snippet.name)}
                      />
                    )}
                  </li>
                ))}
              </ul>
            </>
          );
        }}
      </QueryView>
    </Dialog>
  );
}

/** What was run in this browser, the newest first. */
export function History({ runs, onClose, onOpen, onClear }: {
  runs: readonly PastRun[];
  onClose: () => void;
  onOpen: (sql: string) => void;
  onClear: () => void;
}) {
  const [search, setSearch] = useState("");
  const shown = runs.filter((past) => past.sql.toLowerCase().includes(search.toLowerCase()));
  return (
    <Dialog
      title={texts.history}
      isOpen
      onClose={onClose}
      size="side"
      footer={runs.length > 0 && <Button onPress={onClear}>{texts.clearHistory}</Button>}
    >
      {runs.length === 0 ? <EmptyState icon="clock" title={texts.noHistory}>{texts.noHistoryText}</EmptyState> : (
        <>
          <div className="sql-find">
            <SearchField label={texts.findHistory} value={search} onChange={setSearch} />
          </div>
          <ul className="sql-list">
            {shown.map((past) => (
              <li key={past.sql}>
                <button type="button" className="sql-list-open" onClick={() => onOpen(past.sql)}>
                  <code className="sql-past">{past.sql.slice(0, 300)}</code>
                  <span className="faint">
                    <Badge tone={past.isDone ? "good" : "bad"}>
                      {past.isDone ? texts.historyOk : texts.historyFailed}
                    </Badge>{" "}
                    {past.role}
                    {past.ms !== null && ` · ${formatMs(past.ms)}`} · <Time value={past.at} />
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  );
}
