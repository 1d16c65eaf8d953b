/** A message as a server-sent event; JSON text has no raw line breaks, so one data line is enough. */
export function encodeEvent(message: string, id?: string): string {
  return `event: message\n${id === undefined ? '' : `id: ${id}\n`}data: ${message}\n\n`;
}

/** The first event of a resumable stream: an id to resume from, and how long to wait before reconnecting. */
export function encodePriming(id: string, retryMs: number): string {
  return `id: ${id}\nretry: ${retryMs}\ndata: \n\n`;
}

/** A comment that keeps proxies from closing a quiet stream. */
export const KEEP_ALIVE = ': keep-alive\n\n';
