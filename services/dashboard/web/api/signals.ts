/** What the client finds out for the whole dashboard: the session ended, the connection is gone, a confirmation is needed. */

/** A value that components can follow (`useValue` of api/hooks.ts). */
export class Value<T> {
  #listeners = new Set<() => void>();

  constructor(private current: T) {}

  get = (): T => this.current;

  set(next: T): void {
    if (Object.is(next, this.current)) return;
    this.current = next;
    for (const listener of [...this.#listeners]) listener();
  }

  subscribe = (listener: () => void): () => void => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

/** Whether requests get answers. */
export const isOnline = new Value(true);

/** Whether a request was answered 401 although the page was signed in. */
export const isSessionOver = new Value(false);

/** The confirmation that a request waits for; the dialog of the shell answers it. */
export interface PendingConfirmation {
  operation: string;
  done: (isConfirmed: boolean) => void;
}
export const pendingConfirmation = new Value<PendingConfirmation | null>(null);

/** Have the administrator confirm with password, code or passkey; requests at the same time share one dialog. */
export function requestConfirmation(operation: string): Promise<boolean> {
  return new Promise((resolve) => {
    const earlier = pendingConfirmation.get();
    pendingConfirmation.set({
      operation: earlier?.operation ?? operation,
      done: (isConfirmed) => {
        earlier?.done(isConfirmed);
        resolve(isConfirmed);
      },
    });
  });
}
