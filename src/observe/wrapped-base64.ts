// Mail breaks base64 at 76 letters and PEM at 64; nobody breaks it at less than this.
const MIN_LINE = 16;
const MIN_BLOCK = 24;
const WRAPPED = /(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{16,}\r?\n[\t ]*)+[A-Za-z0-9+/]+/g;
const BREAKS = /[\r\n\t ]+/g;

/** Lets every block of base64 that is broken into lines be changed as if it were one line; one that is not changed keeps its lines. */
export function changeWrappedBase64(text: string, change: (line: string) => string): string {
  if (!mayHoldWrapped(text)) return text;
  return text.replaceAll(WRAPPED, (block) => {
    const line = block.replaceAll(BREAKS, '');
    const changed = change(line);
    return changed === line ? block : changed;
  });
}

// Most text has no line break, or a space not far in front of it.
function mayHoldWrapped(text: string): boolean {
  if (text.length < MIN_BLOCK) return false;
  for (let end = text.indexOf('\n', MIN_LINE); end >= 0; end = text.indexOf('\n', end + 1)) {
    let at = text.charCodeAt(end - 1) === 0x0d ? end - 2 : end - 1;
    const start = at - MIN_LINE;
    while (at > start && isBase64(text.charCodeAt(at))) at--;
    if (at === start) return true;
  }
  return false;
}

function isBase64(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x30 && code <= 0x39) ||
    code === 0x2b ||
    code === 0x2f
  );
}
