/** The states of a view: loading, empty, error, no right, offline, stale. `QueryView` chooses among them. */

import type { UseQueryResult } from "@tanstack/react-query";
import { Component, type ReactNode } from "react";
import { ApiError, isNoRight, isStopped, OfflineError } from "../api/errors.ts";
import { texts } from "../texts.ts";
import { Button } from "./Button.tsx";
import { Icon, type IconName } from "./Icon.tsx";
import { toast } from "./toasts.ts";

/** Something is loading. It appears after a moment, so that quick answers do not flicker. */
export function Loading({ label = texts.states.loading }: { label?: string }) {
  return (
    <p className="state state-loading" role="status">
      <span className="spinner" aria-hidden="true" /> {label}
    </p>
  );
}

/** There is nothing yet: why, and the next step as a button or a link. */
export function EmptyState(
  { title, children, action, icon = "info" }: {
    title: string;
    children?: ReactNode;
    action?: ReactNode;
    icon?: IconName;
  },
) {
  return (
    <div className="state">
      <Icon name={icon} size={24} />
      <h2>{title}</h2>
      {children && <div className="state-text">{children}</div>}
      {action && <div className="state-action">{action}</div>}
    </div>
  );
}

/** A view that could not be shown: message, hint, code, request id, and a way to try again. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  if (isNoRight(error)) {
    return (
      <EmptyState icon="lock" title={texts.errors.noRight}>
        <p>{messageOf(error)}</p>
        <p className="soft">{texts.errors.noRightHint}</p>
      </EmptyState>
    );
  }
  const isOffline = error instanceof OfflineError;
  return (
    <div className="state" role="alert">
      <Icon name={isOffline ? "plug" : "alert"} size={24} />
      <h2>{isOffline ? texts.errors.offline : texts.errors.title}</h2>
      <div className="state-text">
        {isOffline ? <p>{texts.errors.offlineHint}</p> : <ErrorText error={error} />}
      </div>
      {onRetry && <Button icon="refresh" onPress={onRetry}>{texts.errors.retry}</Button>}
    </div>
  );
}

/** An error beside what stays in view: in a form, in a dialog, above a list. */
export function ErrorNote({ error }: { error: unknown }) {
  if (!error || isStopped(error)) return null;
  return (
    <div className="note note-error" role="alert">
      <Icon name="alert" />
      <div>
        <ErrorText error={error} />
      </div>
    </div>
  );
}

/** A note in a view: `warn` before something risky, `info` else. */
export function Note({ kind = "info", children }: { kind?: "info" | "warn" | "good"; children: ReactNode }) {
  return (
    <div className={`note note-${kind}`}>
      <Icon name={kind === "warn" ? "alert" : kind === "good" ? "check" : "info"} />
      <div>{children}</div>
    </div>
  );
}

function ErrorText({ error }: { error: unknown }) {
  if (!(error instanceof ApiError)) return <p>{messageOf(error)}</p>;
  const details = error.body["details"];
  return (
    <>
      <p>{error.message}</p>
      {typeof details === "string" && details && <p className="soft">{details}</p>}
      {error.hint && <p className="soft">{error.hint}</p>}
      <p className="faint error-ids">
        {texts.errors.code} <code>{error.code}</code>
        {error.requestId && (
          <>
            {" · "}
            {texts.errors.request} <code>{error.requestId}</code>
          </>
        )}
      </p>
    </>
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export interface QueryViewProps<T> {
  query: UseQueryResult<T, Error>;
  children: (data: T) => ReactNode;
  /** Shown instead if the answer has nothing in it. */
  isEmpty?: (data: T) => boolean;
  empty?: ReactNode;
  loading?: ReactNode;
}

/** Show the answer of `useOperation`, or the state that stands in its place. An answer that could not be renewed stays, marked. */
export function QueryView<T>({ query, children, isEmpty, empty, loading }: QueryViewProps<T>) {
  if (query.data === undefined) {
    if (query.error) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
    return loading ?? <Loading />;
  }
  return (
    <>
      {query.error && !(query.error instanceof OfflineError) && (
        <div className="stale" role="status">
          <Icon name="clock" /> {texts.states.stale}. {query.error.message}
          <Button size="small" onPress={() => void query.refetch()}>{texts.errors.retry}</Button>
        </div>
      )}
      {isEmpty?.(query.data) && empty !== undefined ? empty : children(query.data)}
    </>
  );
}

/** Shows what went wrong when a component fails, instead of a blank page. `name` changes when another page is opened. */
export class CrashGuard
  extends Component<{ children: ReactNode; name: string }, { error: Error | null; name: string }> {
  override state = { error: null as Error | null, name: this.props.name };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  static getDerivedStateFromProps(props: { name: string }, state: { name: string }) {
    return props.name === state.name ? null : { name: props.name, error: null };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const report = `${error.name}: ${error.message}\n${error.stack ?? ""}`;
    const copy = () => void navigator.clipboard.writeText(report).then(() => toast.done(texts.actions.copied));
    return (
      <div className="state" role="alert">
        <Icon name="alert" size={24} />
        <h2>{texts.errors.crashed}</h2>
        <p className="state-text">{texts.errors.crashedHint}</p>
        <pre className="crash">{report}</pre>
        <div className="state-action">
          <Button icon="refresh" onPress={() => location.reload()}>{texts.errors.reload}</Button>
          <Button icon="copy" onPress={copy}>{texts.errors.copyReport}</Button>
        </div>
      </div>
    );
  }
}
