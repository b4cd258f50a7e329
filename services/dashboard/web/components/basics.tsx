import { type ReactNode, useEffect } from "react";
import { texts } from "../texts.ts";
import { Button, IconButton } from "./Button.tsx";
import { Icon, type IconName } from "./Icon.tsx";
import { toast } from "./toasts.ts";

/** The head of a page: its title, what it is about, and its actions. It also names the window. */
export function PageHeader(
  { title, children, actions, info }: { title: string; children?: ReactNode; actions?: ReactNode; info?: ReactNode },
) {
  useEffect(() => {
    document.title = `${title} · ${texts.name}`;
  }, [title]);
  return (
    <header className="page-header">
      <div className="page-title">
        <h1>{title}</h1>
        {info}
      </div>
      {children && <p className="soft page-lead">{children}</p>}
      {actions && <div className="page-actions">{actions}</div>}
    </header>
  );
}

/** A titled part of a page, on a surface of its own. */
export function Card(
  { title, actions, children, isFlush }: {
    title?: ReactNode;
    actions?: ReactNode;
    children: ReactNode;
    /** Without padding, for tables. */
    isFlush?: boolean;
  },
) {
  return (
    <section className={`card${isFlush ? " card-flush" : ""}`}>
      {title && (
        <div className="card-head">
          <h2>{title}</h2>
          {actions && <div className="card-actions">{actions}</div>}
        </div>
      )}
      <div className="card-body">{children}</div>
    </section>
  );
}

/** A bar above a table or an editor: filters and actions, which wrap on narrow screens. */
export function Toolbar({ children, label }: { children: ReactNode; label: string }) {
  return <div className="toolbar" role="group" aria-label={label}>{children}</div>;
}

export type Tone = "neutral" | "accent" | "good" | "warn" | "bad";

/** A short mark. Colour never says it alone: the text does. */
export function Badge({ tone = "neutral", icon, children }: { tone?: Tone; icon?: IconName; children: ReactNode }) {
  return (
    <span className={`badge badge-${tone}`}>
      {icon && <Icon name={icon} size={12} />}
      {children}
    </span>
  );
}

/** A filter or a sort that is in force, with a button that removes it. */
export function Chip({ children, onRemove, label }: { children: ReactNode; onRemove?: () => void; label?: string }) {
  return (
    <span className="chip">
      {children}
      {onRemove && <IconButton icon="close" size="small" label={label ?? texts.actions.clear} onPress={onRemove} />}
    </span>
  );
}

/** Names and values, one below the other. */
export function KeyValue({ entries }: { entries: readonly (readonly [ReactNode, ReactNode])[] }) {
  return (
    <dl className="key-value">
      {entries.map(([name, value], index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** One figure with its name, for the head of a page. */
export function Figure(
  { label, value, hint, tone = "neutral" }: { label: string; value: ReactNode; hint?: ReactNode; tone?: Tone },
) {
  return (
    <div className={`figure figure-${tone}`}>
      <span className="figure-label">{label}</span>
      <span className="figure-value number">{value}</span>
      {hint && <span className="hint">{hint}</span>}
    </div>
  );
}

/** A button that copies a text. */
export function CopyButton({ text, label = texts.actions.copy }: { text: string; label?: string }) {
  const copy = () => void navigator.clipboard.writeText(text).then(() => toast.done(texts.actions.copied));
  return <IconButton icon="copy" label={label} size="small" onPress={copy} />;
}

/** Code that is shown, not edited, with a button that copies it. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div className="code-block">
      <pre tabIndex={0} role="region" aria-label={label}><code>{code}</code></pre>
      <CopyButton text={code} />
    </div>
  );
}

/** The pages of a list that is found by cursors: `next` of an answer leads on, earlier pages are remembered by the caller. */
export function Pagination(
  { hasPrevious, hasNext, onFirst, onPrevious, onNext, info }: {
    hasPrevious: boolean;
    hasNext: boolean;
    onFirst?: () => void;
    onPrevious: () => void;
    onNext: () => void;
    info?: ReactNode;
  },
) {
  return (
    <nav className="pagination" aria-label={texts.table.pages}>
      <span className="soft number">{info}</span>
      {onFirst && <Button size="small" isDisabled={!hasPrevious} onPress={onFirst}>{texts.actions.first}</Button>}
      <Button size="small" isDisabled={!hasPrevious} onPress={onPrevious}>{texts.actions.previous}</Button>
      <Button size="small" isDisabled={!hasNext} onPress={onNext}>{texts.actions.next}</Button>
    </nav>
  );
}

/** JSON with parts that fold. Strings are shown as text, whatever they contain. */
export function JsonView({ value, label = "JSON", depth = 2 }: { value: unknown; label?: string; depth?: number }) {
  return (
    <div className="json" role="group" aria-label={label}>
      <JsonPart value={value} depth={depth} />
    </div>
  );
}

const mostMembers = 200;

function JsonPart({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const key = name === undefined ? null : <span className="json-name">{name}:</span>;
  if (typeof value !== "object" || value === null) {
    const kind = value === null ? "null" : typeof value;
    return (
      <div className="json-row">
        {key} <span className={`json-${kind}`}>{JSON.stringify(value) ?? "undefined"}</span>
      </div>
    );
  }
  const isList = Array.isArray(value);
  const members = Object.entries(value);
  const size = isList ? `[${members.length}]` : `{${members.length}}`;
  if (members.length === 0) {
    return (
      <div className="json-row">
        {key} <span className="faint">{size}</span>
      </div>
    );
  }
  return (
    <details className="json-part" open={depth > 0}>
      <summary>
        {key} <span className="faint">{size}</span>
      </summary>
      {members.slice(0, mostMembers).map(([member, inner]) => (
        <JsonPart key={member} name={member} value={inner} depth={depth - 1} />
      ))}
      {members.length > mostMembers && <div className="json-row faint">+ {members.length - mostMembers}</div>}
    </details>
  );
}

/**
 * HTML that someone else wrote, as an email: shown in a frame whose own policy allows styles and neither scripts nor
 * requests. The frame is loaded from `/_/frame`.
 */
export function ForeignHtml({ html, title, src }: { html: string; title: string; src: string }) {
  return (
    <iframe
      key={html}
      className="foreign-html"
      title={title}
      src={src}
      sandbox="allow-same-origin"
      onLoad={(event) => {
        const inner = event.currentTarget.contentDocument;
        if (inner) inner.documentElement.innerHTML = html;
      }}
    />
  );
}
