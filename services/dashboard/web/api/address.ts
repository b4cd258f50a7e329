/** Addresses, found from where the page itself was loaded: it works below any path that a proxy adds. */

const root = new URL(document.documentElement.dataset.root ?? "./", location.href);

/** The path of the dashboard without its last slash, as the router wants it: `/_`, or `/tools/_` behind a proxy. */
export const dashboardPath: string = root.pathname.replace(/\/$/, "");

/** The address of the dashboard, with its last slash. */
export const dashboardUrl: string = root.href;

/** The address of the management interface. */
export const managementUrl: string = new URL("../management/v1", root).href;

/** The address of the gateway, without its last slash. */
export const gatewayUrl: string = new URL("..", root).href.replace(/\/$/, "");
