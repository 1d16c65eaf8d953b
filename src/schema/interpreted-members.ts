import { copyJson, isObject } from '../base/json.ts';
import { linearPattern } from '../base/linear-pattern.ts';
import { addProblem, passesSilently, type Check, type Inside } from './interpreter.ts';
import type { Node } from './references.ts';

/** Fills in the members that are missing. */
export function defaults(told: Node): Check | undefined {
  const filled = Object.entries(told).flatMap(([name, node]) =>
    isObject(node) && 'default' in node ? [[name, node['default']] as const] : [],
  );
  if (filled.length === 0) return undefined;
  return (value) => {
    if (!isObject(value)) return true;
    for (const [name, fallback] of filled) {
      if (Object.hasOwn(value, name) && value[name] !== undefined) continue;
      // Assigning to `__proto__` would set the prototype.
      const own = { value: copyJson(fallback), writable: true, enumerable: true, configurable: true };
      Object.defineProperty(value, name, own);
    }
    return true;
  };
}

/** Members that must be there. */
export function required(names: readonly string[]): Check {
  return (value, run) => {
    if (!isObject(value)) return true;
    let passed = true;
    for (const name of names) {
      if (Object.hasOwn(value, name) && value[name] !== undefined) continue;
      passed = addProblem(run, 'is required', name);
      if (!run.isThorough) return false;
    }
    return passed;
  };
}

/** Members that must be there; libraries can do without some of them, and read what is inherited. */
export function requiredInOutline(
  names: readonly string[],
  { properties: known }: Node,
  { checkOf }: Inside,
): Check {
  const checks = names.flatMap((name) =>
    isObject(known) && Object.hasOwn(known, name) ? [[name, checkOf(known[name])] as const] : [],
  );
  return (value, run) => {
    if (!isObject(value)) return true;
    for (const [name, check] of checks) {
      if (value[name] !== undefined || passesSilently(check, undefined, run)) continue;
      return addProblem(run, 'is required', name);
    }
    return true;
  };
}

/** The check of the names of all members. */
export function propertyNames(told: unknown, _node: Node, { checkOf }: Inside): Check {
  const check = checkOf(told);
  return (value, run) => {
    if (!isObject(value)) return true;
    let passed = true;
    for (const name of Object.keys(value)) {
      if (check(name, run)) continue;
      passed = addProblem(run, 'property name must be valid');
      if (!run.isThorough) return false;
    }
    return passed;
  };
}

/** Members by name. */
export function properties(told: Node, _node: Node, { checkOf }: Inside): Check {
  const checks = new Map(Object.entries(told).map(([name, node]) => [name, [checkOf(node)]]));
  return ofMembers((name, value) => (value === undefined ? undefined : checks.get(name)));
}

/** Members whose names match a pattern. */
export function patternProperties(told: Node, _node: Node, { checkOf }: Inside): Check {
  const checks = Object.entries(told).map(
    ([source, node]) => [linearPattern(source), checkOf(node)] as const,
  );
  return ofMembers((name) => checks.flatMap(([matching, check]) => (matching.test(name) ? [check] : [])));
}

/** All other members. */
export function additional(told: unknown, node: Node, { checkOf }: Inside): Check {
  const known = isObject(node['properties']) ? node['properties'] : {};
  const patterns = isObject(node['patternProperties']) ? Object.keys(node['patternProperties']) : [];
  const matching = patterns.map(linearPattern);
  const isKnown = (name: string): boolean =>
    Object.hasOwn(known, name) || matching.some((each) => each.test(name));
  const checks = [told === false ? isUnknown : checkOf(told)];
  return ofMembers((name) => (isKnown(name) ? undefined : checks));
}

const isUnknown: Check = (_, run) => addProblem(run, 'is not a known field');

/** All other members, unless patterns decide which these are: an outline does not have their flags. */
export function additionalInOutline(told: unknown, node: Node, inside: Inside): Check | undefined {
  return 'patternProperties' in node ? undefined : additional(told, node, inside);
}

function ofMembers(checksOf: (name: string, value: unknown) => readonly Check[] | undefined): Check {
  return (value, run) => {
    if (!isObject(value)) return true;
    let passed = true;
    for (const name of Object.keys(value)) {
      for (const check of checksOf(name, value[name]) ?? NONE) {
        run.path.push(name);
        const isGood = check(value[name], run);
        run.path.pop();
        if (isGood) continue;
        if (!run.isThorough) return false;
        passed = false;
      }
    }
    return passed;
  };
}

const NONE: readonly Check[] = [];
