import { useQueryClient } from "@tanstack/react-query";
import type { RefObject } from "react";
import { useGo } from "../address.tsx";
import { post } from "../api/client.ts";
import { useMe, useValue } from "../api/hooks.ts";
import { type MenuEntry, OpenMenu } from "../components/Menu.tsx";
import { toast } from "../components/toasts.ts";
import { pages } from "../pages.ts";
import { texts } from "../texts.ts";
import { chooseTheme, type Theme, theme, themes } from "./theme.ts";

const icons = { system: "monitor", light: "sun", dark: "moon" } as const;

/** The menu of the signed-in administrator: theme, account, signing out. It is loaded after the first view. */
export default function AccountMenu(
  { button, onClose }: { button: RefObject<HTMLElement | null>; onClose: () => void },
) {
  const me = useMe();
  const client = useQueryClient();
  const chosen = useValue(theme);
  const go = useGo();
  const signOut = async () => {
    try {
      await post("/sign-out", {});
      client.clear();
      location.reload();
    } catch (error) {
      toast.error(error);
    }
  };
  const themeEntry = (name: Theme): MenuEntry => ({
    id: name,
    label: `${texts.shell.theme}: ${texts.shell.themes[name]}`,
    icon: name === chosen ? "check" : icons[name],
    onAction: () => chooseTheme(name),
  });
  const account: MenuEntry = {
    id: "account",
    label: texts.shell.account,
    icon: "key",
    onAction: () => go("settings/account"),
  };
  return (
    <OpenMenu
      label={me.name}
      button={button}
      onClose={onClose}
      entries={[
        ...pages.some(({ path }) => path === "settings") ? [account] : [],
        ...themes.map(themeEntry),
        { id: "sign-out", label: texts.shell.signOut, icon: "signOut", onAction: () => void signOut() },
      ]}
    />
  );
}
