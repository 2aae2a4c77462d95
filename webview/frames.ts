// Drawing is asked for often and done once a frame. While the page is hidden the browser gives no frames, so
// nothing is drawn and nothing ticks; what was asked for is drawn when the page is seen again (case 22).

const wanted = new Set<() => void>();
let scheduled = false;

/** Runs `work` once in the next frame, however often it was asked for until then. */
export function inNextFrame(work: () => void): void {
  wanted.add(work);
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(runFrame);
}

function runFrame(): void {
  scheduled = false;
  const all = [...wanted];
  wanted.clear();
  for (const work of all) work();
}
