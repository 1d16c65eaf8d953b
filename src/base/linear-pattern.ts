import { createRequire } from 'node:module';
import type * as Re2 from 're2js';

/** A pattern whose test takes time in proportion to the text, whatever the pattern. */
export interface LinearPattern {
  test(text: string): boolean;
  /** Looks at one text; `replaceAll` is its text with every match replaced. */
  matcher(text: string): { replaceAll(replace: (match: string) => string): string };
}

/** Compiles a pattern for the linear-time engine; throws for what such an engine cannot do. */
export function linearPattern(source: string): LinearPattern {
  // The engine takes a named back-reference for plain text instead of refusing it.
  if (source.includes('\\k<')) throw new SyntaxError('Back-references are not linear.');
  // Loaded with the first pattern: most tools have none, and the engine takes long to load.
  engine ??= (createRequire(import.meta.url)('re2js') as typeof Re2).RE2JS;
  return engine.compile(engine.translateRegExp(source));
}

/** Whether the linear-time engine can do a pattern. */
export function isLinearPattern(source: string): boolean {
  try {
    linearPattern(source);
    return true;
  } catch {
    return false;
  }
}

let engine: typeof Re2.RE2JS | undefined;
