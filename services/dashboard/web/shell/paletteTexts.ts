/** The texts of the palette, which is not part of the first view. */

import { defineTexts } from "../texts.ts";

export const paletteTexts = defineTexts("palette", {
  title: "Search or run",
  placeholder: "Go to a page, find a table or a user, run an action…",
  none: "Nothing matches",
  pages: "Pages",
  actions: "Actions",
  fn: "Function",
  user: "User",
  report: "Report",
  snippet: "Snippet",
  setting: "Setting",
  doc: "Documentation",
  hint: "↑ ↓ choose   ↵ open   Esc close",
});
