/** Signing in: by a one-time link, by password or passkey, and by a second factor where there is one. */

import { type ReactNode, useEffect, useRef, useState } from "react";
import { post } from "../api/client.ts";
import { Button } from "../components/Button.tsx";
import { CodeWords } from "../components/CodeWords.tsx";
import { Field } from "../components/Field.tsx";
import { ErrorNote, Loading } from "../components/states.tsx";
import { Icon } from "../components/Icon.tsx";
import { texts } from "../texts.ts";
import { useAttempt } from "./attempt.ts";
import { canUsePasskeys, usePasskeyOnce } from "./passkeys.ts";

interface SignedIn {
  needs_factor: boolean;
  factors: readonly string[];
}

export interface SignInProps {
  /** `byLink`: the administrator may have no password yet. */
  onSignedIn: (byLink: boolean) => void;
  link?: string;
  onLinkFailed?: () => void;
  needsFactor?: boolean;
  isInDialog?: boolean;
  email?: string;
}

/** The sign-in page, or its form in the dialog of a session that ended. */
export function SignIn(props: SignInProps) {
  const [factors, setFactors] = useState<readonly string[] | null>(
    props.needsFactor ? ["totp", "passkey", "recovery_code"] : null,
  );
  const [email, setEmail] = useState(props.email ?? "");
  const [password, setPassword] = useState("");
  const attempt = useAttempt();
  const byLink = useRef(false);

  const signIn = (body: unknown) =>
    attempt.run(async () => {
      const answer = await post("/sign-in", body) as SignedIn;
      if (answer.needs_factor) setFactors(answer.factors);
      else props.onSignedIn(byLink.current);
    });
  const started = useRef(false);
  useEffect(() => {
    if (!props.link || started.current) return;
    started.current = true;
    byLink.current = true;
    void signIn({ link: props.link });
  }, []);

  if (factors !== null) {
    return (
      <Frame {...props} title={texts.signIn.factorTitle}>
        <FactorForm factors={factors} onSignedIn={() => props.onSignedIn(false)} onOther={() => setFactors(null)} />
      </Frame>
    );
  }
  if (props.link && !attempt.error) {
    return (
      <Frame {...props} title={texts.signIn.title}>
        <Loading label={texts.signIn.byLink} />
      </Frame>
    );
  }
  return (
    <Frame {...props} title={texts.signIn.title}>
      <form
        className="sign-in-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          byLink.current = false;
          void signIn({ email, password });
        }}
      >
        <Field
          label={texts.signIn.email}
          type="email"
          name="email"
          autoComplete="username"
          value={email}
          onChange={setEmail}
          hasFocus={!email}
        />
        <Field
          label={texts.signIn.password}
          type="password"
          name="password"
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
          hasFocus={Boolean(email)}
        />
        <ErrorNote error={attempt.error} />
        <Button type="submit" variant="primary" isPending={attempt.isRunning}>{texts.signIn.button}</Button>
        {canUsePasskeys() && (
          <Button
            icon="key"
            isDisabled={attempt.isRunning}
            onPress={() =>
              void attempt.run(async () => {
                await post("/sign-in", { passkey: await usePasskeyOnce() });
                props.onSignedIn(false);
              })}
          >
            {texts.signIn.byPasskey}
          </Button>
        )}
      </form>
      {!props.isInDialog && (
        <details className="sign-in-help">
          <summary>{texts.signIn.noPassword}</summary>
          <p className="soft">
            <CodeWords text={texts.signIn.noPasswordHint} />
          </p>
        </details>
      )}
    </Frame>
  );
}

function FactorForm(
  { factors, onSignedIn, onOther }: { factors: readonly string[]; onSignedIn: () => void; onOther: () => void },
) {
  const hasApp = factors.includes("totp");
  const [isRecovery, setRecovery] = useState(!hasApp);
  const [code, setCode] = useState("");
  const attempt = useAttempt();
  const prove = (body: () => Promise<unknown>) =>
    void attempt.run(async () => {
      await post("/sign-in/factor", await body());
      onSignedIn();
    });
  return (
    <form
      className="sign-in-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        prove(() => Promise.resolve(isRecovery ? { recovery_code: code.trim() } : { code: code.replace(/\s/g, "") }));
      }}
    >
      <Field
        key={String(isRecovery)}
        label={isRecovery ? texts.signIn.recoveryCode : texts.signIn.code}
        value={code}
        onChange={setCode}
        autoComplete="one-time-code"
        inputMode={isRecovery ? "text" : "numeric"}
        isCode
        hasFocus
      />
      <ErrorNote error={attempt.error} />
      <Button type="submit" variant="primary" isPending={attempt.isRunning}>{texts.signIn.continue}</Button>
      {factors.includes("passkey") && canUsePasskeys() && (
        <Button
          icon="key"
          onPress={() => prove(async () => ({ passkey: await usePasskeyOnce() }))}
        >
          {texts.signIn.usePasskey}
        </Button>
      )}
      {hasApp && (
        <Button variant="quiet" onPress={() => setRecovery(!isRecovery)}>
          {isRecovery ? texts.signIn.useCode : texts.signIn.useRecoveryCode}
        </Button>
      )}
      <Button variant="quiet" onPress={onOther}>{texts.signIn.other}</Button>
    </form>
  );
}

function Frame({ title, isInDialog, children }: { title: string; isInDialog?: boolean; children: ReactNode }) {
  useEffect(() => {
    if (!isInDialog) document.title = `${title} · ${texts.name}`;
  }, [title]);
  if (isInDialog) return <>{children}</>;
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <span className="logo">
          <Icon name="wave" size={28} />
        </span>
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}
