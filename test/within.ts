/** What was waited for did not come in time. */
export class InVain extends Error {}

/** Settles as a promise does, or fails after so many milliseconds with what was waited for: no test may hang. */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new InVain(`Waited ${ms} ms in vain: ${what}.`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
