import { useEffect, useMemo, useRef, useState } from "react";
import { useSearch } from "../../address.tsx";
import { run } from "../../api/client.ts";
import { ApiError } from "../../api/errors.ts";
import { useMay } from "../../api/hooks.ts";
import { PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CodeEditor, type EditorHandle } from "../../components/CodeEditor.tsx";
import { Switch } from "../../components/Field.tsx";
import { Menu } from "../../components/Menu.tsx";
import { Select } from "../../components/Select.tsx";
import { Loading } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import { useCommands } from "../../shell/commands.ts";
import { useCatalogNames } from "./completion.ts";
import { useOpenTexts, usePastRuns } from "./openTexts.ts";
import { Results } from "./Results.tsx";
import { type Role, RolePicker, viewAsOf } from "./RolePicker.tsx";
import { SaveMigration, SaveSnippet } from "./SavePanels.tsx";
import { History, Snippets } from "./SidePanels.tsx";
import { formatSpan } from "../../format.ts";
import { sqlTexts as texts } from "./texts.ts";
import { TextTabs } from "./TextTabs.tsx";
import { useSqlRun } from "./useSqlRun.tsx";
import "./sql.css";

const limits = [5, 10, 20, 60, 300];

/** SQL: open texts, an editor, how to run, and what came of it. */
export default function SqlPage() {
  const [search, changeSearch] = useSearch();
  const { open, edit, add, close } = useOpenTexts();
  const { runs, note, clear } = usePastRuns();
  const sql = useSqlRun(note);
  const text = open.find((candidate) => candidate.id === search["text"]) ?? open[0]!;
  const [role, setRole] = useState<Role>({ id: "own", user: null });
  const [isReadOnly, setReadOnly] = useState(true);
  const [limit, setLimit] = useState("");
  const mayChange = useMay("sql.run");
  const editor = useRef<EditorHandle | null>(null);
  const schema = useCatalogNames();
  const outcome = sql.outcomes[text.id];
  const [saving, setSaving] = useState<{ what: string; sql: string } | null>(null);

  const options = {
    isReadOnly: isReadOnly || !mayChange,
    viewAs: viewAsOf(role),
    roleName: role.id === "own" ? texts.ownRole : role.id === "anon" ? texts.anon : role.user?.label ?? texts.user,
    timeoutS: limit ? Number(limit) : null,
  };
  const chosen = () => {
    const selection = editor.current?.selection() ?? { text: text.sql, from: 0 };
    if (selection.text.trim()) return selection;
    toast.info(texts.nothing);
    return null;
  };
  const runChosen = () => {
    const selection = sql.running ? null : chosen();
    if (selection) void sql.start(text.id, selection, options);
  };
  const explain = (isAnalyzed: boolean) => {
    const selection = sql.running ? null : chosen();
    if (selection) void sql.explain(text.id, selection, options, isAnalyzed);
  };
  const show = (id: string) => changeSearch({ text: id, panel: null, snippet: null });
  const openNew = (sqlText = "", snippet?: string) =>
    show(add(snippet === undefined ? { sql: sqlText } : { sql: sqlText, snippet }));
  const save = (what: string) => {
    const selection = chosen();
    if (selection) setSaving({ what, sql: what === "snippet" ? text.sql : selection.text });
  };
  const problems = useMemo(() => {
    if (outcome?.errorAt === undefined || !(outcome.error instanceof ApiError)) return [];
    return [{ from: outcome.errorAt, message: outcome.error.message }];
  }, [outcome]);

  useCommands([
    { id: "sql.run", label: texts.run, keys: "Ctrl-Enter", run: () => runChosen() },
    { id: "sql.new", label: texts.newTab, run: () => openNew() },
    { id: "sql.snippets", label: texts.snippets, run: () => changeSearch({ panel: "snippets" }) },
    { id: "sql.history", label: texts.history, run: () => changeSearch({ panel: "history" }) },
  ]);
  useEffect(() => editor.current?.focus(), [text.id]);
  const wanted = search["snippet"];
  useEffect(() => {
    if (!wanted) return;
    const present = open.find((candidate) => candidate.snippet === wanted);
    if (present) return show(present.id);
    run("snippets.read", { name: wanted }).then(({ name, text: sqlText }) => openNew(sqlText, name)).catch((error) => {
      toast.error(error);
      changeSearch({ snippet: null });
    });
  }, [wanted]);

  return (
    <div className="fill sql">
      <PageHeader
        title={texts.title}
        actions={
          <>
            <Button icon="file" onPress={() => changeSearch({ panel: "snippets" })}>{texts.snippets}</Button>
            <Button icon="clock" onPress={() => changeSearch({ panel: "history" })}>{texts.history}</Button>
          </>
        }
      />
      <TextTabs open={open} current={text.id} onSelect={show} onClose={close} onAdd={() => openNew()} />
      <div className="sql-editor">
        <CodeEditor
          key={text.id}
          label={texts.editor}
          language="sql"
          value={text.sql}
          onChange={(value) => edit(text.id, { sql: value })}
          {...(schema ? { schema } : {})}
          onRun={runChosen}
          problems={problems}
          handle={(handle) => {
            editor.current = handle;
          }}
          hasFocus
          minHeight="9rem"
        />
      </div>
      <div className="sql-bar-actions" role="group" aria-label={texts.options}>
        {sql.running
          ? <Button variant="danger" icon="stop" onPress={() => void sql.cancel()}>{texts.cancel}</Button>
          : <Button variant="primary" icon="play" onPress={runChosen}>{texts.run}</Button>}
        <Menu
          label={texts.explain}
          button={<Button icon="branch" isDisabled={sql.running !== null}>{texts.explain}</Button>}
          entries={[
            { id: "plan", label: texts.explainPlan, onAction: () => explain(false) },
            { id: "analyze", label: texts.explainAnalyze, onAction: () => explain(true) },
          ]}
        />
        <RolePicker role={role} onChange={setRole} />
        <Switch isSelected={options.isReadOnly} onChange={setReadOnly} isDisabled={!mayChange}>{texts.readOnly}</Switch>
        <Select
          label={texts.limit}
          size="small"
          hidesLabel
          value={limit || "0"}
          onChange={(value) => setLimit(value === "0" ? "" : value)}
          choices={[
            { id: "0", label: texts.limitDefault },
            ...limits.map((count) => ({
              id: String(count),
              label: formatSpan(count),
            })),
          ]}
        />
        <span className="sql-space" />
        {mayChange && (
          <Menu
            label={texts.keep}
            button={<Button icon="save">{texts.keep}</Button>}
            entries={[
              { id: "snippet", label: texts.saveSnippet, icon: "file", onAction: () => save("snippet") },
              { id: "migration", label: texts.saveMigration, icon: "branch", onAction: () => save("migration") },
            ]}
          />
        )}
      </div>
      <section className="sql-results" aria-label={texts.results} aria-busy={sql.running === text.id}>
        {sql.running === text.id
          ? <Loading label={texts.running} />
          : <Results key={outcome ? `${text.id} ${runs[0]?.at}` : text.id} outcome={outcome} />}
      </section>
      {search["panel"] === "snippets" && (
        <Snippets
          onClose={() => changeSearch({ panel: null })}
          onOpen={(name, snippet) => openNew(snippet, name)}
        />
      )}
      {search["panel"] === "history" && (
        <History
          runs={runs}
          onClose={() => changeSearch({ panel: null })}
          onOpen={openNew}
          onClear={clear}
        />
      )}
      {saving?.what === "snippet" && (
        <SaveSnippet
          sql={saving.sql}
          name={text.snippet ?? ""}
          onClose={() => setSaving(null)}
          onSaved={(snippet) => {
            edit(text.id, { snippet });
            setSaving(null);
          }}
        />
      )}
      {saving?.what === "migration" && <SaveMigration sql={saving.sql} onClose={() => setSaving(null)} />}
    </div>
  );
}
