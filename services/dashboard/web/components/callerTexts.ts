/** Texts of the pieces that choose a caller and show an answer. */

import { defineTexts } from "../texts.ts";

export const callerTexts = defineTexts("caller", {
  label: "Ask as",
  labelOf: (name: string) => `Ask as: ${name}`,
  anon: "anon (publishable key)",
  user: "a user…",
  title: "Ask as a user of the project",
  text:
    "Requests carry a token of this user, which ends after 15 minutes. It is made now, and the audit log names you.",
  findUser: "Search users by address, phone or name",
  noUser: "No user matches",
  answer: {
    title: "Answer",
    took: (ms: string) => `in ${ms}`,
    headers: (count: number) => count === 1 ? "1 header" : `${count} headers`,
    empty: "no body",
    cut: "Only the first megabyte is shown.",
    body: "Body of the answer",
    offline: "There was no answer: the platform may be restarting, or the browser refused the request.",
  },
});
