import type { ReactNode } from "react";
import { Badge, JsonView } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { Time } from "../../components/Time.tsx";
import type { ProjectUser } from "../../generated/operations.ts";
import { useUserChange } from "./change.ts";
import { usersTexts } from "./texts.ts";

const texts = usersTexts.access;

/** How a user gets in: identities, second factors, passkeys, sessions. */
export function Access({ user, mayChange }: { user: ProjectUser; mayChange: boolean }) {
  const { id } = user;
  const endSession = useUserChange("users.end_session", id, { doneText: texts.revoked });
  const removeFactor = useUserChange("users.remove_factor", id, { doneText: texts.removed });
  const removeIdentity = useUserChange("users.remove_identity", id, { doneText: texts.removed });
  const removePasskey = useUserChange("users.remove_passkey", id, { doneText: texts.removed });
  const remove = async (title: string, body: string, name: string, act: () => void) => {
    if (await confirm({ title, body, names: [name], action: title })) act();
  };
  const button = (label: string, name: string, onPress: () => void) =>
    mayChange && (
      <Button size="small" variant="quiet" aria-label={`${label}: ${name}`} onPress={onPress}>{label}</Button>
    );
  return (
    <div className="users-parts">
      <AccessPart title={texts.sessions} none={texts.noSessions}>
        {user.sessions.map((session) => {
          const name = session.user_agent || texts.unknownDevice;
          return (
            <Entry
              key={session.id}
              action={button(texts.revoke, name, () => endSession.mutate({ id, session_id: session.id }))}
            >
              <div>{name} {session.aal && <Badge>{session.aal}</Badge>}</div>
              <div className="hint">
                {session.ip && (
                  <>
                    <code>{session.ip}</code>
                    {" · "}
                  </>
                )}
                <Time value={session.refreshed_at ?? session.created_at} />
                {session.not_after && (
                  <>
                    {" · "}
                    {texts.until} <Time value={session.not_after} />
                  </>
                )}
              </div>
            </Entry>
          );
        })}
      </AccessPart>
      <AccessPart title={texts.identities} none={texts.noIdentities}>
        {user.identities.map((identity) => {
          const name = `${identity.provider}: ${identity.email ?? identity.provider_id}`;
          const onRemove = () =>
            void remove(
              texts.removeIdentity,
              texts.removeIdentityText,
              name,
              () => removeIdentity.mutate({ id, identity_id: identity.id }),
            );
          return (
            <Entry key={identity.id} action={user.identities.length > 1 && button(texts.remove, name, onRemove)}>
              <div>
                <Badge tone="accent">{identity.provider}</Badge> {identity.email ?? identity.provider_id}
              </div>
              <div className="hint">
                {texts.used} <Time value={identity.last_sign_in_at} />
              </div>
              <details>
                <summary className="hint">{texts.data}</summary>
                <JsonView value={identity.identity_data} label={texts.data} />
              </details>
            </Entry>
          );
        })}
      </AccessPart>
      <AccessPart title={texts.factors} none={texts.noFactors}>
        {user.factors.map((factor) => {
          const name = factor.name || factor.phone || factor.type;
          const onRemove = () =>
            void remove(
              texts.removeFactor,
              texts.removeFactorText,
              name,
              () => removeFactor.mutate({ id, factor_id: factor.id }),
            );
          return (
            <Entry key={factor.id} action={button(texts.remove, name, onRemove)}>
              <div>
                {name} <Badge>{factor.type}</Badge>{" "}
                <Badge tone={factor.status === "verified" ? "good" : "warn"}>{factor.status}</Badge>
              </div>
              <div className="hint">
                {texts.used} <Time value={factor.last_challenged_at} />
              </div>
            </Entry>
          );
        })}
      </AccessPart>
      <AccessPart title={texts.passkeys} none={texts.noPasskeys}>
        {user.passkeys.map((passkey) => {
          const onRemove = () =>
            void remove(
              texts.removePasskey,
              texts.removePasskeyText,
              passkey.name,
              () => removePasskey.mutate({ id, passkey_id: passkey.id }),
            );
          return (
            <Entry key={passkey.id} action={button(texts.remove, passkey.name, onRemove)}>
              <div>{passkey.name}</div>
              <div className="hint">
                {texts.used} <Time value={passkey.last_used_at} />
              </div>
            </Entry>
          );
        })}
      </AccessPart>
    </div>
  );
}

function AccessPart({ title, none, children }: { title: string; none: string; children: ReactNode[] }) {
  return (
    <section className="users-part">
      <h3>{title}</h3>
      {children.length === 0 ? <p className="soft">{none}</p> : <ul className="users-entries">{children}</ul>}
    </section>
  );
}

function Entry({ children, action }: { children: ReactNode; action: ReactNode }) {
  return (
    <li className="users-entry">
      <div className="users-entry-text">{children}</div>
      {action}
    </li>
  );
}
