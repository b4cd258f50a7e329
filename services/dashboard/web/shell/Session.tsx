/** Who is signed in. Without a session the sign-in page stands in the place of all others; one that ends later is asked for over the page. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { run } from "../api/client.ts";
import { checkSession } from "../api/session.ts";
import { ApiError } from "../api/errors.ts";
import { MeContext, useValue } from "../api/hooks.ts";
import { isOnline, isSessionOver, pendingConfirmation } from "../api/signals.ts";
import { question } from "../components/question.ts";
import { ErrorState, Loading } from "../components/states.tsx";
import { Toasts } from "../components/Toasts.tsx";
import { takeLink } from "./link.ts";
import { useLoadedPart } from "./loadedPart.ts";

// Signed-in administrators, which are nearly all who load the page, do not wait for these.
const SignIn = lazy(async () => ({ default: (await import("./SignIn.tsx")).SignIn }));
const Welcome = lazy(async () => ({ default: (await import("./Welcome.tsx")).Welcome }));
const retryMs = 3_000;

/** Show `children` to a signed-in administrator. */
export function Session({ children }: { children: ReactNode }) {
  const [link] = useState(takeLink);
  const [isLinkUsed, setLinkUsed] = useState(link === "");
  const [isNew, setNew] = useState(false);
  const client = useQueryClient();
  const isOver = useValue(isSessionOver);
  const online = useValue(isOnline);
  const me = useQuery({
    queryKey: ["account.me", {}],
    queryFn: async ({ signal }) => {
      if (!client.getQueryData(["account.me", {}])) await checkSession();
      return await run("account.me", {}, { signal });
    },
    enabled: isLinkUsed,
    retry: false,
    staleTime: 60_000,
    refetchInterval: online ? false : retryMs,
  });
  useEffect(() => {
    if (online && me.isError && !(me.error instanceof ApiError)) void me.refetch();
  }, [online]);
  const signedIn = (byLink: boolean) => {
    setLinkUsed(true);
    setNew(byLink);
    isSessionOver.set(false);
    // Another administrator may have signed in: nothing of the earlier one stays.
    if (isOver) void client.invalidateQueries();
    else void client.resetQueries(); // and asks again who is signed in
  };

  if (!isLinkUsed) {
    return (
      <Suspense fallback={<Alone />}>
        <SignIn link={link} onSignedIn={signedIn} onLinkFailed={() => setLinkUsed(true)} />
      </Suspense>
    );
  }
  if (me.data === undefined) {
    const isSignedOut = me.error instanceof ApiError && [401, 403].includes(me.error.status);
    return (
      <>
        {isSignedOut
          ? (
            <Suspense fallback={<Alone />}>
              <SignIn onSignedIn={signedIn} needsFactor={(me.error as ApiError).code === "needs_factor"} />
            </Suspense>
          )
          : me.error
          ? (
            <main className="alone">
              <ErrorState error={me.error} onRetry={() => void me.refetch()} />
            </main>
          )
          : <Alone />}
        <Toasts />
      </>
    );
  }
  return (
    <MeContext.Provider value={me.data}>
      {isNew
        ? (
          <Suspense fallback={<Alone />}>
            <Welcome onDone={() => setNew(false)} />
          </Suspense>
        )
        : children}
      <LoadedDialogs onSignedIn={signedIn} />
      <Toasts />
    </MeContext.Provider>
  );
}

/** The dialogs of the session, once they are loaded. */
function LoadedDialogs({ onSignedIn }: { onSignedIn: (byLink: boolean) => void }) {
  const asked = useValue(question);
  const pending = useValue(pendingConfirmation);
  const isOver = useValue(isSessionOver);
  // Without the dialogs nothing is confirmed. A session that is over is noticed again by the next request.
  const onFailed = () => {
    question.set(null);
    asked?.answer(false);
    pendingConfirmation.set(null);
    pending?.done(false);
    isSessionOver.set(false);
  };
  const isNeeded = asked !== null || pending !== null || isOver;
  const Dialogs = useLoadedPart(() => import("./SessionDialogs.tsx"), isNeeded, onFailed);
  return Dialogs && <Dialogs onSignedIn={onSignedIn} />;
}

/** What stands in the place of all pages while it is loading. */
function Alone() {
  return (
    <main className="alone">
      <Loading />
    </main>
  );
}
