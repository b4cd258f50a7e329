import { lazy, Suspense } from "react";
import type { Extension } from "@codemirror/state";
import { texts } from "../texts.ts";

export type Language = "sql" | "json" | "typescript" | "html" | "text";

/** The handle of an editor, for actions outside of it. */
export interface EditorHandle {
  /** Return the selected text, or the whole text if nothing is selected. */
  selection: () => { text: string; from: number };
  focus: () => void;
  /** Put a text in the place of the selection. */
  insert: (text: string) => void;
}

export interface CodeEditorProps {
  label: string;
  value: string;
  onChange?: (value: string) => void;
  language: Language;
  /** Names to complete in SQL: tables with their columns. */
  schema?: { readonly [table: string]: readonly string[] };
  /** What a page brings for a language of its own, with `language="text"`. Keep it between renderings. */
  support?: Extension;
  /** Ctrl-Enter (Cmd-Enter). */
  onRun?: () => void;
  isReadOnly?: boolean;
  /** CSS lengths; the editor grows between them. */
  minHeight?: string;
  maxHeight?: string;
  /** Marks: a position in the text and what is wrong there. */
  problems?: readonly { from: number; to?: number; message: string }[];
  handle?: (handle: EditorHandle | null) => void;
  hasFocus?: boolean;
}

const Loaded = lazy(() => import("./CodeMirrorEditor.tsx"));

/** An editor for code; CodeMirror is loaded when the first one is shown. Tab leaves it after Esc. */
export function CodeEditor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<div className="editor" role="status">{texts.editor.loading}…</div>}>
      <Loaded {...props} />
    </Suspense>
  );
}
