import { compileGlob } from '../../base/glob.ts';
import type { NameRule } from '../agent-config.ts';

/** The tools that a rule grants: those with an allowed name, less those that are denied. */
export function filterTools<T extends { readonly name: string }>(
  tools: readonly T[],
  rule: NameRule,
): readonly T[] {
  const isGranted = grantedBy(rule);
  return tools.filter(({ name }) => isGranted(name));
}

/** Whether a rule grants what goes by these names: one of them is allowed, and none is denied. */
export function grantedBy({ allow, deny }: NameRule): (...names: readonly string[]) => boolean {
  const allowed = allow.map(compileGlob);
  const denied = deny.map(compileGlob);
  return (...names) =>
    names.some((name) => allowed.some((fits) => fits(name))) &&
    !names.some((name) => denied.some((fits) => fits(name)));
}

/** The entries of a rule that match no name. */
export function unmatched(names: readonly string[], { allow, deny }: NameRule): readonly string[] {
  return [...allow, ...deny].filter((pattern) => {
    const fits = compileGlob(pattern);
    return pattern !== '*' && !names.some((name) => fits(name));
  });
}
