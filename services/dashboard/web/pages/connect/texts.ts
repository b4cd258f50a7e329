import { defineTexts } from "../../texts.ts";

export const connectTexts = defineTexts("connect", {
  title: "Connect a program",
  lead: (client: string) => `${client} asks to work on this platform as you.`,
  unproven:
    "Anyone can give a program any name. Go on only if you have just started this yourself, in a program that you trust.",
  provenSite: (site: string) =>
    `${site} describes this program; its name is what it calls itself. Go on only if you have just started this yourself, and trust ${site}.`,
  client: "Calls itself",
  site: "Described by",
  target: "The answer goes to",
  onThisMachine: "a program on this machine",
  rights: "Rights",
  writes: "May change things",
  writesHint: "Without it, the program only reads: rows, log lines, functions.",
  allow: "Allow",
  deny: "Deny",
  done: "Go back to the program",
  doneText: "This page can be closed. Settings, Tokens shows the program and ends what it may do.",
  incomplete: "This address is not complete: start again in the program.",
});
