/** What the shell asks over any page: to sign in again, to confirm again, and the questions of `confirm`. Loaded after the first view. */

import { useMe, useValue } from "../api/hooks.ts";
import { isSessionOver, pendingConfirmation } from "../api/signals.ts";
import { ConfirmHost, Dialog } from "../components/Dialog.tsx";
import { texts } from "../texts.ts";
import { ConfirmForm } from "./ConfirmForm.tsx";
import { SignIn } from "./SignIn.tsx";

export default function SessionDialogs({ onSignedIn }: { onSignedIn: (byLink: boolean) => void }) {
  const me = useMe();
  const isOver = useValue(isSessionOver);
  const pending = useValue(pendingConfirmation);
  return (
    <>
      <Dialog title={texts.signIn.over} isOpen={isOver} onClose={() => {}} size="small" canClose={false}>
        <p className="soft">{texts.signIn.overHint}</p>
        <SignIn isInDialog email={me.name} onSignedIn={onSignedIn} />
      </Dialog>
      {pending && <ConfirmForm pending={pending} />}
      <ConfirmHost />
    </>
  );
}
