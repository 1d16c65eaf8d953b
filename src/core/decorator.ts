import type { ToolContext } from './context.ts';
import type { SchemaLike } from './schema.ts';
import { defineTool, type Tool, type ToolDefinition } from './tool.ts';

/** What `@tool` may be told; name and description fall back to the method's name. */
export type MethodToolOptions = Partial<ToolDefinition>;

type Method = (this: never, ...args: never[]) => unknown;

/** Marks a method as a tool; works as a standard decorator and as TypeScript's older one. */
export function tool(options: MethodToolOptions = {}) {
  return function mark(target: unknown, _member: unknown, descriptor?: PropertyDescriptor): void {
    // The older convention passes the prototype and a descriptor, the standard one passes the method itself.
    const method: unknown = descriptor ? descriptor.value : target;
    if (typeof method !== 'function') throw new TypeError('@tool() belongs on a method.');
    marked.set(method as Method, options);
  };
}

/** The tools among an instance's methods, inherited ones included. */
export function toolsFrom(instance: object): Tool[] {
  return [...methodsOf(instance)].flatMap(([name, method]) => {
    const options = marked.get(method);
    return options ? [toTool(instance, method, { name, options })] : [];
  });
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
    ...options,
    name: options.name ?? toSnakeCase(name),
    description: options.description ?? toSentence(name),
  };
  const run = method as (this: object, args: unknown, context: ToolContext) => unknown;
  return defineTool<SchemaLike>(definition, (args, context) => run.call(instance, args, context));
}

function toSnakeCase(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}

function toSentence(name: string): string {
  const words = toSnakeCase(name).replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
