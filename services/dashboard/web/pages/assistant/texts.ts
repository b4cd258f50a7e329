import { defineTexts } from "../../texts.ts";

export const assistantTexts = defineTexts("assistant", {
  title: "Assistant",
  off: "The assistant is switched off",
  offText:
    "It is a language model of your choice: any service with the interface of OpenAI's chat completions, one on your own machine too. It reads the schema, writes SQL, policies and functions, and explains errors. It changes nothing and runs nothing by itself.",
  offOthers: "An owner can switch it on.",
  settings: "Settings",
  sent: (host: string, model: string) => `Your questions and what the model looks up go to ${model} at ${host}.`,
  noRows: "It sees the schema, and no rows.",
  withRows: "It may see log lines, and rows of SQL that you let it run.",
  kept: "The conversation stays in this browser.",
  conversation: "Conversation",
  empty: "Ask for a query, a policy or a function",
  emptyText: "For example: users without an order this month; a policy by which members of a team read its notes.",
  question: "Question",
  questionHint: "Ctrl-Enter sends.",
  send: "Send",
  stop: "Stop",
  clear: "New conversation",
  clearTitle: "Begin a new conversation",
  clearText: "The present one is removed from this browser.",
  you: "You",
  model: "Assistant",
  thinking: "Waiting for the model",
  openSql: "Open in SQL",
  code: (language: string) => language ? `Code: ${language}` : "Code",
  tool: (name: string, outcome: string) => {
    const ends: { readonly [outcome: string]: string } = {
      done: "read",
      failed: "failed",
      declined: "not run",
      refused: "not there, so not called",
    };
    return `${name}: ${ends[outcome] ?? outcome}`;
  },
  asks: "The model wants to run this and read its result",
  asksText: "It runs read only, as the role of readers. The rows go to the model's service.",
  run: "Run it and send the rows",
  decline: "Do not run it",
  askAbout: "Ask the assistant",
  aboutError: (sql: string, message: string) =>
    `This SQL failed. Explain why and correct it.\n\n\`\`\`sql\n${sql}\n\`\`\`\n\nError: ${message}`,
});
