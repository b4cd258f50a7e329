import { defineTexts } from "../../texts.ts";

export const docsTexts = defineTexts("docs", {
  title: "Documentation",
  lead: "Of this version. Ctrl K finds sections by their words.",
  find: "Find in the documentation",
  none: "No section has these words",
  all: "Documentation",
  code: "Example",
  table: "Table",
});
