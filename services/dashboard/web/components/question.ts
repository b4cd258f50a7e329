/** Questions before something is destroyed or lost, apart from the dialog that shows them, which the first view does not load. */

import type { ReactNode } from "react";
import { Value } from "../api/signals.ts";
import { texts } from "../texts.ts";

/** What is asked before something is destroyed. */
export interface Question {
  title: string;
  /** What will happen, in words. */
  body: ReactNode;
  /** The names of what is destroyed; the first 20 are listed. */
  names?: readonly string[];
  /** The administrator types this name: for what cannot be undone. */
  typeName?: string;
  action: string;
  isDanger?: boolean;
}

/** A question that waits for its answer. */
export interface OpenQuestion extends Question {
  answer: (isConfirmed: boolean) => void;
}

/** The question that is open; `ConfirmHost` of Dialog.tsx shows it. */
export const question = new Value<OpenQuestion | null>(null);
/** Ask before something is destroyed: `if (await confirm({ title, body, names, typeName, action: "Drop" })) …`. */
export function confirm(asked: Question): Promise<boolean> {
  question.get()?.answer(false);
  return new Promise((resolve) => question.set({ ...asked, answer: resolve }));
}

/** Ask whether unsaved input may be lost. */
export function mayLeave(): Promise<boolean> {
  return confirm({ title: texts.confirm.leave, body: texts.confirm.leaveText, action: texts.confirm.discard });
}
