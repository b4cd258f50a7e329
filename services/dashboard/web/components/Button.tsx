import type { ReactNode, Ref } from "react";
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from "react-aria-components/Button";
import { Tooltip, TooltipTrigger } from "react-aria-components/Tooltip";
import { Icon, type IconName } from "./Icon.tsx";

export interface ButtonProps extends Omit<AriaButtonProps, "className" | "children" | "style"> {
  /** `primary` once in a view; `danger` for what destroys; `quiet` in rows and bars. */
  variant?: "primary" | "danger" | "quiet" | "plain";
  size?: "small" | "normal";
  icon?: IconName;
  children: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

/** A button. `onPress` for mouse, touch and keyboard; with `isPending` it waits and cannot be pressed again. */
export function Button({ variant = "plain", size = "normal", icon, children, ...rest }: ButtonProps) {
  return (
    <AriaButton {...rest} className={`button button-${variant} button-${size}`}>
      {rest.isPending ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      <span className="button-text">{children}</span>
    </AriaButton>
  );
}

export interface IconButtonProps extends Omit<AriaButtonProps, "className" | "children" | "style"> {
  icon: IconName;
  /** The name of the action: shown when the mouse rests on it, read by screen readers. */
  label: string;
  size?: "small" | "normal";
  variant?: "quiet" | "plain" | "danger";
}

/** A button that is only an icon. */
export function IconButton({ icon, label, size = "normal", variant = "quiet", ...rest }: IconButtonProps) {
  return (
    <TooltipTrigger delay={500}>
      <AriaButton {...rest} aria-label={label} className={`button button-icon button-${variant} button-${size}`}>
        {rest.isPending ? <span className="spinner" aria-hidden="true" /> : <Icon name={icon} />}
      </AriaButton>
      <Tooltip className="tooltip" offset={6}>{label}</Tooltip>
    </TooltipTrigger>
  );
}
