import { useState, useSyncExternalStore } from "react";
import type { AppCaller } from "../api/gateway.ts";
import { useChange, useMay } from "../api/hooks.ts";
import type { ProjectUserSummary } from "../generated/operations.ts";
import { Button } from "./Button.tsx";
import { callerTexts as texts } from "./callerTexts.ts";
import { Menu } from "./Menu.tsx";
import { UserDialog } from "./UserDialog.tsx";

const lastsS = 900;

// One caller for all pages that ask as an application. The token stands in memory only.
let current: AppCaller = null;
let ending: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function setCaller(caller: AppCaller): void {
  current = caller;
  clearTimeout(ending);
  if (caller) ending = setTimeout(() => setCaller(null), caller.endsAt - Date.now());
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Return who asks: anon until a user is chosen, and again when the user's token has ended. */
export function useCaller(): AppCaller {
  return useSyncExternalStore(subscribe, () => current);
}

/** Chooses who asks: anon with the publishable key alone, or a user of the project. */
export function CallerMenu() {
  const caller = useCaller();
  const [isChoosing, setChoosing] = useState(false);
  const mayActAsUser = useMay("users.sign_in_as");
  const [chosen, setChosen] = useState<ProjectUserSummary | null>(null);
  const take = useChange("users.sign_in_as", {
    onDone: ({ access_token: token, expires_at: endsAt }) => {
      const name = chosen?.email ?? chosen?.phone ?? chosen?.name ?? chosen?.id ?? "";
      setCaller({ id: chosen?.id ?? "", name, token, endsAt: endsAt * 1000 });
    },
  });
  const choose = (user: ProjectUserSummary) => {
    setChoosing(false);
    setChosen(user);
    take.mutate({ id: user.id, lasts_s: lastsS });
  };
  return (
    <>
      <Menu
        label={texts.label}
        entries={[
          { id: "anon", label: texts.anon, onAction: () => setCaller(null) },
          { id: "user", label: texts.user, isDisabled: !mayActAsUser, onAction: () => setChoosing(true) },
        ]}
        button={
          <Button size="small" icon="user">
            {texts.labelOf(caller?.name ?? "anon")}
          </Button>
        }
      />
      {isChoosing && (
        <UserDialog
          title={texts.title}
          text={texts.text}
          onChoose={choose}
          onClose={() => setChoosing(false)}
        />
      )}
    </>
  );
}
