/**
 * CodeMirror behind `CodeEditor`. It stands in a shadow root: there it adds its styles as style sheets of the document
 * object, which the Content-Security-Policy allows, instead of as elements, which it does not.
 */

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { html } from "@codemirror/lang-html";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { PostgreSQL, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, type Extension, type Transaction } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  rectangularSelection,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import type { CodeEditorProps } from "./CodeEditor.tsx";

const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "0.8125rem", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-code)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "0.5rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--text-faint)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--sunken)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--selected) !important" },
  ".cm-selectionMatch": { backgroundColor: "var(--accent-soft)" },
  ".cm-matchingBracket": { backgroundColor: "var(--selected)", color: "inherit" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "var(--radius)",
    boxShadow: "var(--shadow-over)",
  },
  ".cm-tooltip-autocomplete ul li": { padding: "2px 8px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--selected)", color: "var(--text)" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)" },
  ".cm-textfield, .cm-button": {
    backgroundColor: "var(--surface)",
    backgroundImage: "none",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius)",
  },
});

/** Marks a text that the page put in, which it need not hear of. */
const fromPage = Annotation.define<boolean>();
const isFromPage = (change: Transaction) => change.annotation(fromPage) === true;

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-number)" },
  {
    tag: [tags.propertyName, tags.typeName, tags.className, tags.tagName, tags.attributeName],
    color: "var(--code-name)",
  },
  { tag: [tags.comment, tags.meta], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

function languageOf({ language, schema, support }: CodeEditorProps): Extension {
  switch (language) {
    case "sql":
      return sql({ dialect: PostgreSQL, ...(schema ? { schema: schema as { [name: string]: string[] } } : {}) });
    case "json":
      return json();
    case "typescript":
      return javascript({ typescript: true, jsx: true });
    case "html":
      return html();
    default:
      return support ?? [];
  }
}

/** The editor itself; see `CodeEditorProps`. */
export default function CodeMirrorEditor(props: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  /** Texts that were typed and passed to the page, the oldest first, until the page shows them. */
  const typed = useRef<string[]>([]);
  const parts = useRef({ language: new Compartment(), editing: new Compartment() });

  useEffect(() => {
    const shadow = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
    const state = EditorState.create({ doc: latest.current.value, extensions: extensions() });
    const created = new EditorView({ state, parent: shadow as unknown as Element, root: shadow });
    view.current = created;
    if (latest.current.hasFocus) created.focus();
    latest.current.handle?.({
      focus: () => created.focus(),
      insert: (text) => created.dispatch(created.state.replaceSelection(text)),
      selection: () => {
        const range = created.state.selection.main;
        return range.empty
          ? { text: created.state.doc.toString(), from: 0 }
          : { text: created.state.sliceDoc(range.from, range.to), from: range.from };
      },
    });
    return () => {
      latest.current.handle?.(null);
      created.destroy();
      view.current = null;
    };
  }, []);

  function extensions(): Extension[] {
    const { language, editing } = parts.current;
    const run = () => {
      latest.current.onRun?.();
      return latest.current.onRun !== undefined;
    };
    return [
      keymap.of([
        { key: "Mod-Enter", run },
        ...closeBracketsKeymap,
        ...completionKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...defaultKeymap,
        indentWithTab,
      ]),
      lineNumbers(),
      history(),
      highlightSpecialChars(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      drawSelection(),
      rectangularSelection(),
      bracketMatching(),
      closeBrackets(),
      indentOnInput(),
      autocompletion(),
      search({ top: true }),
      EditorView.domEventHandlers({ beforeinput: replaceSelected }),
      EditorView.lineWrapping,
      theme,
      syntaxHighlighting(colours),
      EditorView.contentAttributes.of({ "aria-label": latest.current.label }),
      language.of(languageOf(latest.current)),
      editing.of(editingOf(latest.current)),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged || !latest.current.onChange || update.transactions.some(isFromPage)) return;
        const text = update.state.doc.toString();
        typed.current.push(text);
        latest.current.onChange(text);
      }),
    ];
  }

  useEffect(() => {
    const current = view.current;
    // A page that is slow shows what was typed a moment ago while more is typed already: that is no change by the page.
    const shown = typed.current.lastIndexOf(props.value);
    typed.current.splice(0, shown < 0 ? typed.current.length : shown + 1);
    if (!current || shown >= 0 || current.state.doc.toString() === props.value) return;
    current.dispatch({
      changes: { from: 0, to: current.state.doc.length, insert: props.value },
      annotations: fromPage.of(true),
    });
  }, [props.value]);

  useEffect(() => {
    view.current?.dispatch({ effects: parts.current.language.reconfigure(languageOf(latest.current)) });
  }, [props.language, props.schema, props.support]);

  useEffect(() => {
    view.current?.dispatch({ effects: parts.current.editing.reconfigure(editingOf(latest.current)) });
  }, [props.isReadOnly]);

  useEffect(() => {
    const current = view.current;
    if (!current || !props.problems) return;
    const length = current.state.doc.length;
    const marks: Diagnostic[] = props.problems.map(({ from, to, message }) => ({
      from: Math.min(from, length),
      to: Math.min(to ?? from + 1, length),
      message,
      severity: "error",
    }));
    current.dispatch(setDiagnostics(current.state, marks));
  }, [props.problems]);

  return (
    <div
      ref={host}
      className="editor"
      style={{ minHeight: props.minHeight ?? "6rem", maxHeight: props.maxHeight ?? "none" }}
    />
  );
}

/**
 * Put typed text in the place of a selection. The browser itself would keep the colours of the replaced text as inline
 * styles for a moment, which the Content-Security-Policy reports.
 */
function replaceSelected(event: InputEvent, view: EditorView): boolean {
  // The browser's selection, not the editor's: a selection made in this very moment (by a program) is not in the editor yet.
  const { from, to } = selectedInBrowser(view);
  const text = event.data;
  if (event.inputType !== "insertText" || text === null || from === to || view.composing) return false;
  const insert = () =>
    view.state.update({
      changes: { from, to, insert: text },
      selection: { anchor: from + text.length },
      userEvent: "input.type",
      scrollIntoView: true,
    });
  const isHandled = view.state.facet(EditorView.inputHandler).some((handler) => handler(view, from, to, text, insert));
  if (!isHandled) view.dispatch(insert());
  return true;
}

function selectedInBrowser(view: EditorView): { from: number; to: number } {
  const selection = (view.root as Document).getSelection();
  if (!selection?.anchorNode || !selection.focusNode) return view.state.selection.main;
  const anchor = view.posAtDOM(selection.anchorNode, selection.anchorOffset);
  const head = view.posAtDOM(selection.focusNode, selection.focusOffset);
  return { from: Math.min(anchor, head), to: Math.max(anchor, head) };
}

function editingOf({ isReadOnly }: CodeEditorProps): Extension {
  return [EditorState.readOnly.of(isReadOnly ?? false), EditorView.editable.of(!isReadOnly)];
}
