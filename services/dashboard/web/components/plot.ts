/** What all charts share: they are drawn again when the width or the theme changes. uPlot is loaded by those who draw. */

interface Plot {
  setSize: (size: { width: number; height: number }) => void;
  destroy: () => void;
}

/** Draw a chart into an element, now and when its width or the theme changes. Returns what ends it. */
export function keepPlot(element: HTMLElement, height: number, draw: () => Plot): () => void {
  let plot = draw();
  const sizes = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
  sizes.observe(element);
  let frame = 0;
  const themes = new MutationObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => { // the colours of the theme are in force from the next frame on
      plot.destroy();
      plot = draw();
    });
  });
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => {
    cancelAnimationFrame(frame);
    sizes.disconnect();
    themes.disconnect();
    plot.destroy();
  };
}

/** Return a colour of the tokens as a canvas takes it: `light-dark()` is resolved by the style of a new element. */
export function plotColour(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
