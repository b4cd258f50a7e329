import { type FormEvent, type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { Dialog as AriaDialog } from "react-aria-components/Dialog";
import { Heading } from "react-aria-components/Heading";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { useValue } from "../api/hooks.ts";
import { texts } from "../texts.ts";
import { Button, IconButton } from "./Button.tsx";
import { Field } from "./Field.tsx";
import { mayLeave, type OpenQuestion, question } from "./question.ts";
import { ErrorNote } from "./states.tsx";
import { useUnsaved } from "./unsaved.ts";

// Pages import what asks from beside the dialogs; the shell imports question.ts, and loads the dialogs later.
export { confirm } from "./question.ts";

export interface DialogProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
  /** Buttons, the one that acts last. */
  footer?: ReactNode;
  /** `side`: a panel at the right edge, for a row beside its table. */
  size?: "small" | "normal" | "large" | "side";
  /** With a form, Enter in a field submits. */
  onSubmit?: () => void;
  /** False: only its buttons close it, so that typed text is not lost by a click beside it. */
  isDismissable?: boolean;
  /** False: there is no way around it. */
  canClose?: boolean;
  /** Whether closing loses something, so that it asks; else a form in which something was typed does. */
  isDirty?: boolean;
  /** Shown above the buttons. */
  error?: unknown;
}

/** The second press of a double click that opened a dialog lands beside it, and must not close it. */
const doubleClickMs = 500;

/** A dialog: it keeps the focus, Esc closes it, and the focus returns to where it was. With unsaved input it asks first. */
export function Dialog(props: DialogProps) {
  const { title, isOpen, onClose, children, footer, size = "normal", onSubmit, error, canClose = true } = props;
  const [isTouched, setTouched] = useState(false);
  const openedAt = useRef(0);
  useLayoutEffect(() => {
    if (isOpen) openedAt.current = performance.now();
  }, [isOpen]);
  const isDirty = isOpen && (props.isDirty ?? (onSubmit !== undefined && isTouched));
  useUnsaved(isDirty);
  const close = async () => {
    if (!isDirty || await mayLeave()) onClose();
  };
  const touch = (event: FormEvent<HTMLDivElement>) => {
    if ((event.target as HTMLElement).role !== "searchbox") setTouched(true);
  };
  const content = (
    <>
      <div className="dialog-body" onInput={touch}>
        {children}
        {error ? <ErrorNote error={error} /> : null}
      </div>
      {footer && <div className="dialog-footer">{footer}</div>}
    </>
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <ModalOverlay
      className={`overlay overlay-${size}`}
      isOpen={isOpen}
      onOpenChange={(opens) => opens || void close()}
      isDismissable={canClose && (props.isDismissable ?? true)}
      isKeyboardDismissDisabled={!canClose}
      shouldCloseOnInteractOutside={() => performance.now() - openedAt.current > doubleClickMs}
    >
      <Modal className={`modal modal-${size}`}>
        <AriaDialog className="dialog">
          <div className="dialog-head">
            <Heading slot="title" level={2}>{title}</Heading>
            {canClose && (
              <IconButton
                icon="close"
                label={texts.actions.close}
                size="small"
                onPress={() => void close()}
              />
            )}
          </div>
          {onSubmit
            ? <form className="dialog-form" onSubmit={submit} noValidate>{content}</form>
            : <div className="dialog-form">{content}</div>}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

const mostNames = 20;

/** Shows the questions of `confirm`; the shell has one. */
export function ConfirmHost() {
  const open = useValue(question);
  return open && <ConfirmDialog key={open.title + (open.typeName ?? "")} open={open} />;
}

function ConfirmDialog({ open }: { open: OpenQuestion }) {
  const [typed, setTyped] = useState("");
  const isReady = !open.typeName || typed.trim() === open.typeName;
  const close = (isConfirmed: boolean) => {
    question.set(null);
    open.answer(isConfirmed);
  };
  const hidden = (open.names?.length ?? 0) - mostNames;
  return (
    <Dialog
      title={open.title}
      isOpen
      size="small"
      isDirty={false}
      onClose={() => close(false)}
      onSubmit={() => isReady && close(true)}
      footer={
        <>
          <Button onPress={() => close(false)}>{texts.actions.cancel}</Button>
          <Button type="submit" variant={open.isDanger ?? true ? "danger" : "primary"} isDisabled={!isReady}>
            {open.action}
          </Button>
        </>
      }
    >
      <div>{open.body}</div>
      {open.names && open.names.length > 0 && (
        <ul className="name-list">
          {open.names.slice(0, mostNames).map((name, index) => <li key={index}>{name}</li>)}
          {hidden > 0 && <li className="faint">+ {hidden}</li>}
        </ul>
      )}
      {open.typeName && (
        <Field
          label={texts.confirm.typeName(open.typeName)}
          value={typed}
          onChange={setTyped}
          autoComplete="off"
          isCode
          hasFocus
        />
      )}
    </Dialog>
  );
}
