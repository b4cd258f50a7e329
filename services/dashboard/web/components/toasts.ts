/** Short messages at the edge of the window: `toast.done("Saved")`, `toast.error(error)`. `Toasts.tsx` shows them. */

import { ApiError } from "../api/errors.ts";
import { Value } from "../api/signals.ts";

export interface Toast {
  id: number;
  kind: "done" | "error" | "info";
  text: string;
  hint?: string;
  requestId?: string;
  action?: { label: string; run: () => void };
}

export interface ToastOptions {
  hint?: string;
  /** As undo: the message stays until it is used or closed. */
  action?: { label: string; run: () => void };
}

export const toasts = new Value<readonly Toast[]>([]);
const visibleMs = 6_000;
const mostToasts = 4;
let lastId = 0;

function add(content: Omit<Toast, "id">): void {
  const id = ++lastId;
  toasts.set([...toasts.get(), { id, ...content }].slice(-mostToasts));
  if (content.kind !== "error" && !content.action) setTimeout(() => dismiss(id), visibleMs);
}

/** Close a message. */
export function dismiss(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

export const toast = {
  /** Say that something is done. */
  done(text: string, options: ToastOptions = {}): void {
    add({ kind: "done", text, ...options });
  },
  /** Say something that is neither success nor failure. */
  info(text: string, options: ToastOptions = {}): void {
    add({ kind: "info", text, ...options });
  },
  /** Show an error with its hint and request id; it stays until it is closed. */
  error(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    if (error instanceof ApiError) {
      add({ kind: "error", text, hint: error.hint, requestId: error.requestId });
    } else add({ kind: "error", text });
  },
};
