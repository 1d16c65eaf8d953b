/** One message as a server-sent event; JSON text never holds a raw line break, so one data line is enough. */
export function encodeEvent(message: string, id?: string): string {
  return `event: message\n${id === undefined ? '' : `id: ${id}\n`}data: ${message}\n\n`;
}

/** The event a resumable stream begins with: something to come back to, and how long to wait before. */
export function encodePriming(id: string, retryMs: number): string {
  return `id: ${id}\nretry: ${retryMs}\ndata: \n\n`;
}

/** A comment that keeps proxies from closing a quiet stream. */
export const KEEP_ALIVE = ': keep-alive\n\n';
