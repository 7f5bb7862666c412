/** Where what floats is put, so that it belongs to a landmark; the body where there is none. */
export function floor(): HTMLElement | undefined {
  return document.getElementById("main") ?? undefined;
}
