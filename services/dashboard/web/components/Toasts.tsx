import { useValue } from "../api/hooks.ts";
import { texts } from "../texts.ts";
import { IconButton } from "./Button.tsx";
import { Button } from "./Button.tsx";
import { Icon } from "./Icon.tsx";
import { dismiss, toasts } from "./toasts.ts";

const icons = { done: "check", error: "alert", info: "info" } as const;

/** The region of short messages; screen readers read them when they come. */
export function Toasts() {
  const shown = useValue(toasts);
  return (
    <div
      className="toasts"
      role="log"
      aria-live="polite"
      aria-relevant="additions"
      aria-label={texts.states.messages}
      // An open dialog leaves elements with this mark usable: else undo could not be pressed beside it.
      data-react-aria-top-layer="true"
    >
      {shown.map((toast) => (
        <div key={toast.id} className={`toast toast-${toast.kind}`} role={toast.kind === "error" ? "alert" : undefined}>
          <Icon name={icons[toast.kind]} />
          <div className="toast-text">
            <p>{toast.text}</p>
            {toast.hint && <p className="soft">{toast.hint}</p>}
            {toast.requestId && (
              <p className="faint">
                {texts.errors.request} <code>{toast.requestId}</code>
              </p>
            )}
          </div>
          {toast.action && (
            <Button
              size="small"
              onPress={() => {
                toast.action!.run();
                dismiss(toast.id);
              }}
            >
              {toast.action.label}
            </Button>
          )}
          <IconButton
            icon="close"
            label={texts.actions.dismiss}
            size="small"
            onPress={() =>
              dismiss(toast.id)}
          />
        </div>
      ))}
    </div>
  );
}
