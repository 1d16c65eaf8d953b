import { createRequire } from 'node:module';
import type * as Re2 from 're2js';

/** A pattern that matches in linear time, whatever the pattern. */
export interface LinearPattern {
  test(text: string): boolean;
  /** Matches one text; `replaceAll` returns it with every match replaced. */
  matcher(text: string): { replaceAll(replace: (match: string) => string): string };
}

/** Compiles a pattern for the linear-time engine; throws for features that engine does not have. */
export function linearPattern(source: string): LinearPattern {
  // The engine reads a named back-reference as plain text instead of refusing it.
  if (source.includes('\\k<')) throw new SyntaxError('Back-references are not linear.');
  // Loaded with the first pattern: most tools have none, and the engine is slow to load.
  engine ??= (createRequire(import.meta.url)('re2js') as typeof Re2).RE2JS;
  return engine.compile(engine.translateRegExp(source));
}

/** Whether the linear-time engine supports a pattern. */
export function isLinearPattern(source: string): boolean {
  try {
    linearPattern(source);
    return true;
  } catch {
    return false;
  }
}

let engine: typeof Re2.RE2JS | undefined;
