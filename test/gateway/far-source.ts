import { z } from 'zod';
import { content, defineTool, ToolcribError, ToolRegistry, type ToolSource } from '../../src/index.ts';

/** An integer that a number cannot hold. */
export const LONG = '9007199254740993';
/** A text of many bytes. */
export const LARGE = 'large '.repeat(40_000);

const sure = z.object({ colour: z.enum(['red', 'green']) });
const hanging = new Set<AbortSignal>();
let added = 0;

/** A server with a tool for each thing that can happen to a call. */
export function createFarSource(): ToolSource {
  const registry = new ToolRegistry();
  const define = (name: string, run: Parameters<typeof defineTool>[1]): void => {
    registry.registerTool(defineTool({ name, description: `Does ${name}.`, input: { type: 'object' } }, run));
  };
  define('plain', (args) => `said ${JSON.stringify(args)}`);
  define('progress', (_args, { progress }) => {
    progress(1, 3, 'begun');
    progress(2, 3);
    return 'done';
  });
  define('log', (_args, { log }) => {
    log('info', { at: 'work' }, 'far');
    return 'done';
  });
  define('question', async (_args, { elicit }) => elicit({ message: 'Which?', schema: sure }));
  define('two_questions', async (_args, { elicit }) => {
    const first = await elicit({ message: 'First?', schema: sure });
    const second = await elicit({ message: 'Second?', schema: sure });
    return [first.action, second.action].join();
  });
  define('sampling', async (_args, { sample }) => {
    const { model } = await sample({
      messages: [{ role: 'user', content: { type: 'text', text: '?' } }],
      maxTokens: 5,
    });
    return model;
  });
  define('cancel', async (_args, { signal, progress }) => {
    progress(1);
    hanging.add(signal);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return 'stopped';
  });
  define('was_cancelled', () => {
    const stopped = [...hanging].filter(({ aborted }) => aborted);
    for (const signal of stopped) hanging.delete(signal);
    return String(stopped.length > 0);
  });
  define('list_change', () => {
    define(`added_${++added}`, () => 'new');
    return 'added';
  });
  define('task', async (_args, { detach, progress }) => {
    detach();
    progress(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    return 'finished';
  });
  define('large', () => LARGE);
  define('image', () => content.image('iVBORw0KGgo=', 'image/png'));
  define('unknown_fields', () => ({
    content: [{ type: 'text', text: 'x', later: { a: 1 } }],
    later: [2],
    _meta: { 'acme.com/b': 3 },
  }));
  define('odd_error', () => '');
  define('long_integers', () => '');
  return withOddities(registry);
}

// What no tool can do by itself, and other servers do.
function withOddities(registry: ToolRegistry): ToolSource {
  return {
    list: () => registry.list(),
    find: (name) => registry.find(name),
    watch: (listener) => registry.watch(listener),
    call: (call) => {
      const name = call.kind === 'tool' ? call.tool.name : '';
      if (name === 'odd_error') {
        const remote = { code: 4711, message: 'Out of ink.', data: ['cyan'], hint: 'refill' };
        throw new ToolcribError('remote_error', remote.message, { number: remote.code, remote });
      }
      if (name === 'long_integers')
        return {
          kind: 'done',
          data: { id: Number(LONG) },
          content: [{ type: 'text', text: LONG }],
          relayed: { longIntegers: { structuredContent: { id: LONG } } },
        };
      return registry.call(call);
    },
  };
}
