import { useState } from "react";
import { gatewayUrl } from "../../api/address.ts";
import { useOperation } from "../../api/hooks.ts";
import { CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Select } from "../../components/Select.tsx";
import { Note } from "../../components/states.tsx";
import { formatTime } from "../../format.ts";
import type { ActingToken, ProjectUser } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { useUserChange } from "./change.ts";
import { nameOf } from "./names.tsx";
import { usersTexts } from "./texts.ts";

const texts = usersTexts.actAs;
const choices = Object.entries(texts.choices).map(([id, label]) => ({ id, label }));

/** Make a short-lived token of a user, after a warning and a confirmation. */
export function ActAs({ user, onClose }: { user: ProjectUser; onClose: () => void }) {
  const [lasts, setLasts] = useState("900");
  const take = useUserChange("users.sign_in_as", user.id, { showsError: true });
  return (
    <Dialog
      title={`${texts.title}: ${nameOf(user)}`}
      isOpen
      onClose={onClose}
      onSubmit={() => take.data === undefined && take.mutate({ id: user.id, lasts_s: Number(lasts) })}
      error={take.error}
      footer={take.data ? <Button variant="primary" onPress={onClose}>{shellTexts.actions.close}</Button> : (
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isPending={take.isPending}>{texts.action}</Button>
        </>
      )}
    >
      {take.data ? <Token token={take.data} /> : (
        <>
          <Note kind="warn">{texts.warning}</Note>
          <Select label={texts.lasts} choices={choices} value={lasts} onChange={setLasts} />
        </>
      )}
    </Dialog>
  );
}

function Token({ token }: { token: ActingToken }) {
  const snippets = useOperation("platform.snippets", {});
  const key = snippets.data?.publishable_key ?? "";
  const request =
    `curl "${gatewayUrl}/auth/v1/user" \\\n  -H "apikey: ${key}" \\\n  -H "Authorization: Bearer ${token.access_token}"`;
  return (
    <>
      <p>
        {texts.until} {formatTime(token.expires_at)}. <span className="soft">{texts.once}</span>
      </p>
      <h3>{texts.token}</h3>
      <CodeBlock label={texts.token} code={token.access_token} />
      <h3>{texts.request}</h3>
      <CodeBlock label={texts.request} code={request} />
    </>
  );
}
