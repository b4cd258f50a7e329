/** Styles of the pages: one file for all but the first page, which the first view does not wait for. */

// Read when the page loads: its address is relative to the view that was opened first, and later views have other depths.
const { href } = document.getElementById("page-styles") as HTMLLinkElement;
let loading: Promise<void> | undefined;

/** Put the styles of the pages in force; resolves when they are. Rejects if the file does not come; the next call tries again. */
export function loadPageStyles(): Promise<void> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

/** Load a part of the first page together with the styles of the pages, which it needs. */
export async function withPageStyles<T>(part: Promise<T>): Promise<T> {
  const [content] = await Promise.all([part, loadPageStyles()]);
  return content;
}

function load(): Promise<void> {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = href;
  return new Promise((resolve, reject) => {
    link.onload = () => resolve();
    link.onerror = () => {
      link.remove();
      reject(new Error("The styles of the pages could not be loaded."));
    };
    document.head.append(link);
  });
}
