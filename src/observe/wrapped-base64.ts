// Mail wraps base64 at 76 characters and PEM at 64; nobody wraps it below this.
const MIN_LINE = 16;
const BREAKS = /[\r\n\t ]+/g;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Passes every wrapped block of base64 to `change` as one line; an unchanged block keeps its line breaks. */
export function changeWrappedBase64(text: string, change: (line: string) => string): string {
  let changed = '';
  let done = 0;
  for (let at = text.indexOf('\n', MIN_LINE); at >= 0;) {
    const start = startOfLine(text, at, done);
    const end = start < 0 ? -1 : endOfBlock(text, at);
    if (end >= 0) {
      const line = text.slice(start, end).replaceAll(BREAKS, '');
      const safe = change(line);
      if (safe !== line) {
        changed += text.slice(done, start) + safe;
        done = end;
      }
    }
    at = text.indexOf('\n', Math.max(end, at + 1));
  }
  return done === 0 ? text : changed + text.slice(done);
}

// Most lines have a space near their end, so this ends soon.
function startOfLine(text: string, newline: number, from: number): number {
  const end = text.charCodeAt(newline - 1) === RETURN ? newline - 1 : newline;
  let start = end;
  while (start > from && isBase64(text.charCodeAt(start - 1))) start--;
  return end - start >= MIN_LINE ? start : -1;
}

// The end of the last following line of base64; -1 if there is none.
function endOfBlock(text: string, newline: number): number {
  let end = -1;
  for (let at = newline; ;) {
    let start = at + 1;
    while (isBlank(text.charCodeAt(start))) start++;
    let stop = start;
    while (isBase64(text.charCodeAt(stop))) stop++;
    if (stop === start) return end;
    end = stop;
    if (stop - start < MIN_LINE) return end;
    at = text.charCodeAt(stop) === RETURN ? stop + 1 : stop;
    if (text.charCodeAt(at) !== NEWLINE) return end;
  }
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
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
