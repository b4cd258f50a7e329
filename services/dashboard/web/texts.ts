/**
 * The texts of the shell and of the components, in one catalog. A page has its own in `pages/<name>/texts.ts`, made by
 * `defineTexts` as well, so that one translation file per language can replace them all.
 */

type Catalog = { readonly [name: string]: string | ((...values: never[]) => string) | Catalog };

/** Those of the language of the browser, read before any other part: German, or nothing for English. */
const translations: { readonly [area: string]: Catalog } = /^de\b/i.test(navigator.language)
  ? await import("./german/index.ts").then(({ german }) => german, () => ({})) // without its file the page is in English
  : {};
if (translations.shell !== undefined) document.documentElement.lang = "de";

/** Return the texts of an area in the language of the page; texts that a translation lacks stay as they are. */
export function defineTexts<T extends Catalog>(area: string, english: T): T {
  const translated = translations[area];
  return translated === undefined ? english : merge(english, translated);
}

function merge<T extends Catalog>(english: T, translated: Catalog): T {
  const entries = Object.entries(english).map(([name, text]) => {
    const other = translated[name];
    if (other === undefined) return [name, text];
    return [name, typeof text === "object" && typeof other === "object" ? merge(text, other) : other];
  });
  return Object.fromEntries(entries) as T;
}

export const texts = defineTexts("shell", {
  name: "Headwater",
  errors: {
    offline: "The platform does not answer",
    offlineHint: "It may be restarting. This page tries again by itself.",
    notConfirmed: "Not confirmed, so nothing was changed",
    withoutMessage: (status: number) => `The server answered with status ${status} and no message`,
    title: "This did not work",
    noRight: "Your rights do not include this",
    noRightHint: "An owner can change your rights under Settings.",
    crashed: "This page failed",
    crashedHint: "Reload it. If it fails again, report the text below.",
    code: "Code",
    request: "Request",
    status: "Status",
    retry: "Try again",
    reload: "Reload",
    details: "Details",
    copyReport: "Copy the report",
  },
  states: {
    loading: "Loading",
    messages: "Messages",
    stale: "Not up to date: the last answer is shown",
    offline: "No connection to the platform. Trying again…",
    back: "Connected again",
  },
  actions: {
    cancel: "Cancel",
    close: "Close",
    save: "Save",
    confirm: "Confirm",
    copy: "Copy",
    copied: "Copied",
    undo: "Undo",
    more: "More",
    next: "Next",
    previous: "Previous",
    first: "First",
    clear: "Clear",
    dismiss: "Dismiss",
    show: "Show",
    hide: "Hide",
    refresh: "Refresh",
    optional: "optional",
    search: "Search",
    sortAscending: "sorted, ascending",
    sortDescending: "sorted, descending",
  },
  confirm: {
    typeName: (name: string) => `Type ${name} to confirm`,
    leave: "Leave without saving?",
    leaveText: "What you typed here is not saved.",
    discard: "Discard it",
    title: "Confirm that it is you",
    text: (operation: string) =>
      `${operation} shows secrets or destroys something. For ten minutes you are not asked again.`,
    byPassword: "Password",
    byCode: "Code of your authenticator app",
    byPasskey: "Use a passkey",
    noProof:
      "You have neither a password nor a second factor, and your sign-in by link is more than ten minutes ago. Sign out, and sign in by a new link: `headwater admin reset` prints one.",
  },
  signIn: {
    title: "Sign in to Headwater",
    email: "Email",
    password: "Password",
    button: "Sign in",
    byPasskey: "Sign in with a passkey",
    byLink: "Signing in by the link…",
    linkFailed: "The link did not sign you in",
    noPassword: "No password yet?",
    noPasswordHint:
      "On the platform's machine, `headwater admin link EMAIL` prints a link that signs in; `headwater admin add EMAIL` adds an administrator.",
    factorTitle: "Second factor",
    code: "Code of your authenticator app",
    recoveryCode: "Recovery code",
    useRecoveryCode: "Use a recovery code",
    useCode: "Use the authenticator app",
    usePasskey: "Use a passkey",
    continue: "Continue",
    other: "Sign in as someone else",
    over: "Your session ended",
    overHint: "Sign in again; this page stays as it is.",
    passkeyFailed: "The passkey was not used",
    needsName: "Passkeys need a name such as localhost in the address, not an IP address.",
  },
  welcome: {
    title: "Choose a password",
    text: "You signed in by a link, which works once. With a password you can come back.",
    password: "New password",
    hint: "12 characters or more",
    button: "Set the password",
    later: "Later",
    done: "The password is set",
  },
  shell: {
    skip: "Skip to the content",
    navigation: "Pages",
    openNavigation: "Open the list of pages",
    search: "Search or run",
    signOut: "Sign out",
    signedOut: "You are signed out",
    account: "Account and sessions",
    theme: "Theme",
    themes: { system: "As the system", light: "Light", dark: "Dark" },
    help: "Keyboard and help",
    notFound: "There is no such page",
    notFoundHint: "The address may be old. All pages are in the list on the left.",
    home: "Go to the first page",
    closed: (page: string) => `Your role closes the page ${page}`,
    closedHint: (role: string, areas: string) =>
      `The role ${role} allows nothing in the areas that this page needs (${areas}). An owner can change the role under Settings, Roles.`,
    pages: {
      "": "Home",
      tables: "Tables",
      sql: "SQL",
      assistant: "Assistant",
      reports: "Reports",
      schema: "Schema",
      policies: "Policies",
      users: "Users",
      auth: "Auth settings",
      mail: "Mail",
      storage: "Storage",
      functions: "Functions",
      jobs: "Jobs",
      streams: "Streams",
      realtime: "Realtime",
      graphql: "GraphQL",
      rest: "REST",
      logs: "Logs",
      performance: "Performance",
      backups: "Backups",
      branches: "Branches",
      settings: "Settings",
      connect: "Connect a program",
      docs: "Documentation",
      components: "Components",
    },
    rights: { owner: "Owner", developer: "Developer", reader: "Reader" },
    groups: {
      "": "",
      database: "Database",
      users: "Users",
      project: "Project",
      operations: "Operations",
      platform: "Platform",
    },
  },
  table: {
    rows: (count: number) => count === 1 ? "1 row" : `${count} rows`,
    selected: (count: number) => count === 1 ? "1 row is selected" : `${count} rows are selected`,
    pages: "Pages of the list",
    selectAll: "Select all rows",
    selectRow: "Select the row",
    empty: "No rows",
  },
  editor: {
    loading: "The editor is loading",
  },
  time: {
    now: "just now",
    never: "never",
  },
});
