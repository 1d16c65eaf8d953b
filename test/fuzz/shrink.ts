/** Leaves out of a failing list what it can, in ever smaller pieces, while the rest still fails. */
export async function shrink<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
  maxTries = 200,
): Promise<readonly T[]> {
  let rest = items;
  let tries = 0;
  for (let size = Math.ceil(items.length / 2); size > 0;) {
    let isShorter = false;
    for (let at = 0; at < rest.length;) {
      if (tries++ >= maxTries) return rest;
      const candidate = [...rest.slice(0, at), ...rest.slice(at + size)];
      if (await fails(candidate)) {
        rest = candidate;
        isShorter = true;
      } else at += size;
    }
    // Pieces of one item are tried again until none of them can be left out.
    if (size === 1 && !isShorter) return rest;
    size = Math.max(1, Math.min(Math.floor(size / 2), Math.ceil(rest.length / 2)));
    if (rest.length === 0) return rest;
  }
  return rest;
}
