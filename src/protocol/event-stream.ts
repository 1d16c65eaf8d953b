/** One message as a server-sent event; JSON text never holds a raw line break, so one data line is enough. */
export function encodeEvent(message: string): string {
  return `event: message\ndata: ${message}\n\n`;
}
