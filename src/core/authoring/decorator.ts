import type { ToolContext } from '../context.ts';
import type { SchemaLike } from '../../schema/schema.ts';
import { defineTool, type Tool, type ToolDefinition } from '../tool.ts';

/** What `@tool` may be told; name and description fall back to the method's name. */
export type MethodToolOptions = Partial<ToolDefinition>;

type Method = (this: never, ...args: never[]) => unknown;

/** Marks a method as a tool; works as a standard decorator and as TypeScript's older one. */
export function tool(options: MethodToolOptions = {}) {
  return function mark(target: unknown, member: unknown, descriptor?: PropertyDescriptor): void {
    // The older convention passes prototype, name and descriptor, the standard one the method itself and what it is.
    const legacy = descriptor && descriptorOf(target as object, member as PropertyKey, descriptor);
    const method: unknown = descriptor ? legacy?.value : isMethod(member) && target;
    if (typeof method !== 'function') throw new TypeError('@tool() belongs on a method.');
    marked.set(method as Method, options);
    return legacy as unknown as void;
  };
}

/** The tools among an instance's methods, inherited ones included. */
export function toolsFrom(instance: object): Tool[] {
  return [...methodsOf(instance)].flatMap(([name, method]) => {
    const options = marked.get(method);
    return options ? [toTool(instance, method, { name, options })] : [];
  });
}

// jiti hands on the prototype in place of the descriptor and would then define that as the method; the real one undoes
// it.
function descriptorOf(
  target: object,
  member: PropertyKey,
  given: PropertyDescriptor,
): PropertyDescriptor | undefined {
  return given === target ? Object.getOwnPropertyDescriptor(target, member) : given;
}

function isMethod(member: unknown): boolean {
  return typeof member === 'object' && member !== null && 'kind' in member && member.kind === 'method';
}

const marked = new WeakMap<Method, MethodToolOptions>();

function methodsOf(instance: object): Map<string, Method> {
  const methods = new Map<string, Method>();
  for (
    let level = instance;
    level && level !== Object.prototype;
    level = Object.getPrototypeOf(level) as object
  ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (typeof value === 'function' && !methods.has(name)) methods.set(name, value as Method);
    }
  }
  return methods;
}

interface MethodTool {
  readonly name: string;
  readonly options: MethodToolOptions;
}

function toTool(instance: object, method: Method, { name, options }: MethodTool): Tool {
  const definition: ToolDefinition = {
    // As for a function that is registered without a schema: it takes what it is given.
    input: ANYTHING,
    ...options,
    name: options.name ?? toSnakeCase(name),
    description: options.description ?? toSentence(name),
  };
  const run = method as (this: object, args: unknown, context: ToolContext) => unknown;
  return defineTool<SchemaLike>(definition, (args, context) => run.call(instance, args, context));
}

const ANYTHING = { type: 'object', properties: {} } as const;

function toSnakeCase(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}

function toSentence(name: string): string {
  const words = toSnakeCase(name).replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
