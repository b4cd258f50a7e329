/** The texts of the list of keys, which is not part of the first view. */

import { defineTexts } from "../texts.ts";

export const helpTexts = defineTexts("help", {
  title: "Keyboard",
  everywhere: "Everywhere",
  here: "On this page",
  palette: "Search or run",
  keys: "This list",
  goTo: "Go to a page by its number in the list",
  dialogs: "Close a dialog or a menu",
  rows: "Move in a table or list",
  open: "Open the row",
  run: "Run, in an editor",
  docs: "The manual is in the folder docs of the project; `headwater --help` lists the commands.",
});
