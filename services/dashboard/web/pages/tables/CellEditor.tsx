import { type KeyboardEvent, useRef, useState } from "react";
import { toast } from "../../components/toasts.ts";
import type { TableColumn } from "../../generated/operations.ts";
import { tablesTexts as texts } from "./texts.ts";
import { choiceOf, choicesOf, editorOf, type TextValue } from "./values.ts";

interface CellEditorProps {
  column: TableColumn;
  value: TextValue;
  /** What was typed to begin with, in the place of the value. */
  typed: string | null;
  /** The new value, or undefined to leave it as it was. */
  onFinish: (value: TextValue | undefined, next: "stay" | "down" | "right" | "blur") => void;
}

/** Edits a value in its cell: Enter and Tab store it, Esc leaves it as it was. */
export function CellEditor(props: CellEditorProps) {
  return editorOf(props.column) === "choice" ? <ChoiceEditor {...props} /> : <TextEditor {...props} />;
}

function TextEditor({ column, value, typed, onFinish }: CellEditorProps) {
  const [text, setText] = useState(typed ?? value ?? "");
  const isDone = useRef(false);
  const finish = (next: "stay" | "down" | "right" | "blur", isCanceled = false) => {
    if (isDone.current) return;
    isDone.current = true;
    const isSame = text === (value ?? "");
    const isNull = column.category !== "text" && (text === "" || (column.is_nullable && text.toUpperCase() === "NULL"));
    if (!isCanceled && text === "NULL" && column.category === "text") toast.info(texts.edit.nullAsText);
    onFinish(isCanceled || isSame ? undefined : isNull ? null : text, next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Enter") finish("down");
    else if (event.key === "Tab") finish("right");
    else if (event.key === "Escape") finish("stay", true);
    else return;
    event.preventDefault();
  };
  return (
    <input
      ref={focusAtEnd}
      className="tables-input"
      aria-label={texts.edit.cellTitle(column.name)}
      value={text}
      spellCheck={false}
      autoComplete="off"
      inputMode={column.category === "number" ? "decimal" : "text"}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={onKeyDown}
      onBlur={() => finish("blur")}
    />
  );
}

function ChoiceEditor({ column, value, onFinish }: CellEditorProps) {
  const isDone = useRef(false);
  const finish = (chosen: TextValue | undefined, next: "stay" | "down" | "right" | "blur") => {
    if (isDone.current) return;
    isDone.current = true;
    onFinish(
      chosen === undefined || chosen === (value === null ? null : choiceOf(column, value)) ? undefined : chosen,
      next,
    );
  };
  const [chosen, setChosen] = useState<TextValue>(value === null ? null : choiceOf(column, value));
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape") finish(undefined, "stay");
    else if (event.key === "Enter") finish(chosen, "down");
    else if (event.key === "Tab") finish(chosen, "right");
    else return;
    event.preventDefault();
  };
  const nullOption = "null";
  const read = (option: string) => option === nullOption ? null : option.slice(1);
  return (
    <select
      ref={focusAtEnd}
      className="tables-input"
      aria-label={texts.edit.cellTitle(column.name)}
      value={chosen === null ? nullOption : `=${chosen}`}
      onChange={(event) => setChosen(read(event.target.value))}
      onKeyDown={onKeyDown}
      onBlur={() => finish(chosen, "blur")}
    >
      {(column.is_nullable || value === null) && <option value={nullOption}>{texts.grid.null}</option>}
      {choicesOf(column).map((choice) => <option key={choice} value={`=${choice}`}>{choice}</option>)}
    </select>
  );
}

/** Focus once, when the element appears. */
function focusAtEnd(element: HTMLElement | null): void {
  element?.focus();
}
