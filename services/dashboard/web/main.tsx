/** The entry: the cache of answers, the session, the router. Its styles are styles/first.css. */

import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { makeQueryClient } from "./api/hooks.ts";
import { makeRouter } from "./shell/router.tsx";
import { Session } from "./shell/Session.tsx";
import { startTheme } from "./shell/theme.ts";

startTheme();
const router = makeRouter();

createRoot(document.getElementById("app")!).render(
  <StrictMode>
    <QueryClientProvider client={makeQueryClient()}>
      <Session>
        <RouterProvider router={router} />
      </Session>
    </QueryClientProvider>
  </StrictMode>,
);
