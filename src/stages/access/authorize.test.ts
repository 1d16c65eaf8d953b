import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { propertyRuns } from '../../../test/property-runs.ts';
import { absentTool } from '../../core/absent-tool.ts';
import type { Reading, ToolCall } from '../../core/call.ts';
import { localCaller, type Caller } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import { definePrompt } from '../../core/prompts/prompt.ts';
import { defineResource, defineResourceTemplate } from '../../core/resources/resource.ts';
import type { Result } from '../../core/result.ts';
import type { ToolSource } from '../../core/source.ts';
import type { Readable } from '../../core/expose-readings.ts';
import { withStages } from '../../core/stage.ts';
import type { Tool } from '../../core/tool.ts';
import { validateInput } from '../../core/essentials/validate.ts';
import { createTestCall, recordingSource } from '../../testing.ts';
import type { accessOptions } from './rules.ts';
import { createAccess, type Access } from './authorize.ts';
import { loadConditions } from './condition.ts';

type Rules = z.input<typeof accessOptions>;

const ada = callerWith({ id: 'ada', roles: ['admin'] });
const bob = callerWith({ id: 'bob', roles: ['clerk'], scopes: ['mail:read', 'mail:write'] });
const eve: Caller = callerWith({ id: 'eve', tenant: { id: 'other', name: 'Other', data: {} } });
const tools = ['mail_read', 'mail_send', 'pay', 'report'].map((name) => toolCalled(name));

describe('who may use which tool', () => {
  test.each<[string, Rules, Caller, string[]]>([
    ['nothing matches', [], ada, []],
    ['a role', [{ roles: ['admin'], tools: ['*'] }], ada, ['mail_read', 'mail_send', 'pay', 'report']],
    ['another role', [{ roles: ['admin'], tools: ['*'] }], bob, []],
    ['any of the roles', [{ roles: ['x', 'clerk'], tools: ['pay'] }], bob, ['pay']],
    [
      'all scopes',
      [{ scopes: ['mail:read', 'mail:write'], tools: ['mail_*'] }],
      bob,
      ['mail_read', 'mail_send'],
    ],
    ['one scope is missing', [{ scopes: ['mail:read', 'admin'], tools: ['*'] }], bob, []],
    ['a tenant', [{ tenants: ['other'], tools: ['pay'] }], eve, ['pay']],
    ['another tenant', [{ tenants: ['other'], tools: ['pay'] }], ada, []],
    ['a caller', [{ callers: ['bob'], tools: ['pay'] }], bob, ['pay']],
    ['another caller', [{ callers: ['bob'], tools: ['pay'] }], ada, []],
    ['every aspect must match', [{ callers: ['bob'], roles: ['admin'], tools: ['*'] }], bob, []],
    ['an empty list restricts nothing', [{ roles: [], scopes: [], tools: ['pay'] }], eve, ['pay']],
    ['a rule about prompts alone', [{ prompts: ['*'], resources: ['*'] }], ada, []],
    ['names are exact', [{ tools: ['pa', 'pay_', 'Report', 'mail'] }], ada, []],
    ['a deny first', [{ tools: ['mail_*'], effect: 'deny' }, { tools: ['*'] }], ada, ['pay', 'report']],
    [
      'an allow first',
      [{ tools: ['mail_send'] }, { tools: ['mail_*'], effect: 'deny' }, { tools: ['*'] }],
      ada,
      ['mail_send', 'pay', 'report'],
    ],
  ])(
    '%s: a caller can call exactly the tools it can list and find (002-20, 004-17)',
    async (_what, rules, ...[caller, expected]) => {
      const { source, reached } = await staged(rules);
      expect((await source.list(caller)).map(({ name }) => name)).toEqual(expected);
      for (const tool of tools) {
        const isListed = expected.includes(tool.name);
        expect(await source.find(tool.name, caller)).toBe(isListed ? tool : undefined);
        if (isListed) expect((await source.call(callOf(tool, caller))).kind).toBe('done');
        else expect(() => source.call(callOf(tool, caller))).toThrow(`Unknown tool: ${tool.name}`);
      }
      expect(reached()).toEqual(expected);
    },
  );

  test('without a rule nobody may use anything, and a rule grants exactly what it names (003-22)', async () => {
    const nothing = await staged([]);
    expect(await nothing.source.list(ada)).toEqual([]);
    const least = await staged([{ callers: ['bob'], scopes: ['mail:read'], tools: ['mail_read'] }]);
    expect((await least.source.list(bob)).map(({ name }) => name)).toEqual(['mail_read']);
    expect(await least.source.list(ada)).toEqual([]);
    expect(await least.source.list(callerWith({ id: 'bob' }))).toEqual([]);
  });

  test('control: without the stage everybody lists and calls everything', async () => {
    const source = recordingSource(...tools);
    expect(await source.list(eve)).toHaveLength(4);
    expect(await source.call(callOf(tools[2]!, eve))).toMatchObject({ kind: 'done' });
  });

  test('B11 annotations of a tool do not change who may use it', async () => {
    const rules: Rules = [{ tools: ['pay'], when: 'args.amount < 100' }];
    for (const annotations of [{}, { readOnlyHint: true }, { destructiveHint: true, title: 'report' }]) {
      const tool = { ...toolCalled('pay'), annotations };
      const { source } = await staged(rules, [tool]);
      expect(await endingOf(source, callOf(tool, bob, { amount: 5 }))).toBe('done');
      expect(await endingOf(source, callOf(tool, bob, { amount: 500 }))).toBe('refused');
    }
  });

  test('a call of an unknown tool is passed on to the next stage', async () => {
    const { byName, byCondition } = await createAccess([{ tools: ['*'], when: 'args.amount < 100' }]);
    const next = (): Result => ({ kind: 'done' });
    const tool = absentTool('nope');
    expect(byName.wrap!(tool, next)).toBe(next);
    expect(byCondition.wrap!(tool, next)).toBe(next);
  });
});

describe('conditions', () => {
  test.each<[string, Rules, number, string]>([
    [
      'no rule allows it',
      [{ tools: ['pay'], when: 'args.amount < 100', message: 'Up to 99.' }],
      100,
      'Up to 99.',
    ],
    [
      'a rule denies it',
      [{ tools: ['pay'], effect: 'deny', when: 'args.amount > 9', message: 'Ask Ada.' }, { tools: ['*'] }],
      10,
      'Ask Ada.',
    ],
    ['no rule says why', [{ tools: ['pay'], when: 'args.amount < 100' }], 100, 'You may not use pay with'],
  ])('the refusal for the model has the words of the rule: %s', async (_what, rules, ...[amount, text]) => {
    const { source } = await staged(rules);
    const call = callOf(tools[2]!, bob, { amount });
    await expect(async () => source.call(call)).rejects.toThrow(text);
  });

  test('only a rule with a condition can have words for its refusal', async () => {
    await expect(createAccess([{ tools: ['pay'], message: 'No.' }])).rejects.toThrow('goes with');
  });

  const cases: readonly [
    string,
    Rules,
    Record<string, unknown>,
    'done' | 'refused' | 'unknown_tool',
    string,
  ][] = [
    [
      'allowed while true',
      [{ tools: ['pay'], when: 'args.amount < 100' }],
      { amount: 5 },
      'done',
      'access[0]',
    ],
    [
      'refused while false',
      [{ tools: ['pay'], when: 'args.amount < 100' }],
      { amount: 100 },
      'refused',
      'access',
    ],
    [
      'the next rule has its turn',
      [{ tools: ['pay'], when: 'args.amount < 9' }, { tools: ['*'] }],
      { amount: 10 },
      'done',
      'access[1]',
    ],
    [
      'denied while true',
      [{ tools: ['pay'], when: 'args.amount > 9', effect: 'deny' }, { tools: ['*'] }],
      { amount: 10 },
      'refused',
      'access[0]',
    ],
    [
      'not denied while false',
      [{ tools: ['pay'], when: 'args.amount > 9', effect: 'deny' }, { tools: ['*'] }],
      { amount: 9 },
      'done',
      'access[1]',
    ],
    [
      'a deny behind a condition',
      [
        { tools: ['pay'], when: 'args.amount < 9' },
        { tools: ['*'], effect: 'deny' },
      ],
      { amount: 10 },
      'refused',
      'access[1]',
    ],
    [
      'an allow before makes the rest irrelevant',
      [{ tools: ['pay'] }, { tools: ['*'], when: 'true', effect: 'deny' }],
      {},
      'done',
      'access[0]',
    ],
    [
      'a deny before an allow hides',
      [
        { tools: ['*'], effect: 'deny' },
        { tools: ['*'], when: 'true' },
      ],
      {},
      'unknown_tool',
      'access[0]',
    ],
    [
      'only conditional denies hide too',
      [{ tools: ['*'], effect: 'deny', when: 'false' }],
      {},
      'unknown_tool',
      'access',
    ],
    [
      'an error is no reason to allow',
      [{ tools: ['pay'], when: 'args.missing < 100' }],
      {},
      'refused',
      'access',
    ],
    [
      'an error is reason enough to deny',
      [{ tools: ['pay'], when: 'args.missing > 9', effect: 'deny' }, { tools: ['*'] }],
      {},
      'refused',
      'access[0]',
    ],
    [
      'a broken condition does not allow',
      [{ tools: ['pay'], when: 'args.amount <' }],
      { amount: 1 },
      'refused',
      'access',
    ],
    [
      'a broken condition denies',
      [{ tools: ['pay'], when: '((', effect: 'deny' }, { tools: ['*'] }],
      { amount: 1 },
      'refused',
      'access[0]',
    ],
    [
      'who calls',
      [{ tools: ['pay'], when: 'caller.id == args.for && tenant.id == "local" && tool.name == "pay"' }],
      { for: 'bob' },
      'done',
      'access[0]',
    ],
    [
      'who does not call',
      [{ tools: ['pay'], when: 'caller.id == args.for' }],
      { for: 'ada' },
      'refused',
      'access',
    ],
  ];

  test.each(cases)('%s (000-40, 004-17)', async (_what, rules, ...[args, ending, rule]) => {
    const { source, reached } = await staged(rules);
    const call = callOf(tools[2]!, bob, args);
    expect(await endingOf(source, call)).toBe(ending);
    expect(call.record.rule).toBe(rule);
    expect(reached()).toEqual(ending === 'done' ? ['pay'] : []);
    expect((await source.list(bob)).some(({ name }) => name === 'pay')).toBe(ending !== 'unknown_tool');
  });

  test('the refusal tells the model what to do, and does not name the rule (000-40)', async () => {
    const { source } = await staged([{ tools: ['pay'], when: 'args.amount < 100' }]);
    const call = callOf(tools[2]!, bob, { amount: 500 });
    expect(() => source.call(call)).toThrow(
      new ToolcribError(
        'refused',
        'You may not use pay with these arguments. Do not repeat the call as it is; it may be allowed with others.',
      ),
    );
  });

  test('the condition of a rule for other callers is not evaluated', async () => {
    const { source } = await staged([
      { roles: ['clerk'], tools: ['pay'], when: 'args.amount < 100' },
      { roles: ['admin'], tools: ['pay'] },
    ]);
    expect(await endingOf(source, callOf(tools[2]!, bob, { amount: 500 }))).toBe('refused');
    expect(await endingOf(source, callOf(tools[2]!, ada, { amount: 500 }))).toBe('done');
    expect(await endingOf(source, callOf(tools[2]!, eve, { amount: 5 }))).toBe('unknown_tool');
  });

  const transfer: Tool = {
    ...toolCalled('pay'),
    inputSchema: {
      type: 'object',
      properties: { amount: { type: 'number', default: 5_000 } },
      additionalProperties: false,
    },
  };
  const limit: Rules = [
    { tools: ['pay'], effect: 'deny', when: 'has(args.amount) && args.amount > 100' },
    { tools: ['pay'] },
  ];

  test('conditions see default values, so leaving an argument out does not bypass a rule (000-40)', async () => {
    const { byName, byCondition } = await createAccess(limit);
    const source = withStages(recordingSource(transfer), [byName, validateInput, byCondition]);
    expect(await endingOf(source, callOf(transfer, bob, {}))).toBe('refused');
    expect(await endingOf(source, callOf(transfer, bob, { amount: 50 }))).toBe('done');
  });

  test('control: before validation the same rule can be bypassed', async () => {
    const { byName, byCondition } = await createAccess(limit);
    const source = withStages(recordingSource(transfer), [byName, byCondition, validateInput]);
    expect(await endingOf(source, callOf(transfer, bob, {}))).toBe('done');
  });

  test('a tool without conditions has no extra cost', async () => {
    const { byCondition } = await createAccess([
      { tools: ['pay'], when: 'args.amount < 100' },
      { tools: ['*'] },
    ]);
    const next = (): Result => ({ kind: 'done' });
    expect(byCondition.wrap!(tools[0]!, next)).toBe(next);
    expect(byCondition.wrap!(tools[2]!, next)).not.toBe(next);
  });

  test('the evaluator is loaded only for rules with conditions', async () => {
    let loads = 0;
    const load = () => (loads++, loadConditions());
    await createAccess([{ tools: ['*'] }], { loadConditions: load });
    expect(loads).toBe(0);
    await createAccess(
      [
        { tools: ['*'], when: 'true' },
        { tools: ['x'], when: 'false' },
      ],
      { loadConditions: load },
    );
    expect(loads).toBe(1);
  });
});

describe('views', () => {
  test('callers with the same rules share one list, whatever else differs', async () => {
    const { byName } = await createAccess([
      { roles: ['admin'], tools: ['*'] },
      { scopes: ['mail:read'], tools: ['mail_*'] },
    ]);
    const view = (caller: Partial<Caller>): string => byName.viewOf!(callerWith(caller));
    expect(view({ id: 'x', roles: ['a', 'b'] })).toBe(view({ id: 'y', scopes: ['other'] }));
    expect(view({ roles: ['admin'] })).not.toBe(view({}));
    expect(view({ roles: ['admin'], scopes: ['mail:read'] })).not.toBe(view({ roles: ['admin'] }));
  });

  test('with 100 rules, 10,000 tools and 1,000 callers, the tools are filtered once for each kind of caller', async () => {
    let asked = 0;
    const many = Array.from({ length: 10_000 }, (_, index) => {
      const tool = toolCalled(`tool_${index}`);
      return Object.defineProperty({ ...tool }, 'name', {
        get: () => (asked++, tool.name),
        enumerable: true,
      });
    });
    const rules: Rules = Array.from({ length: 100 }, (_, index) => ({
      roles: [`role${index % 10}`],
      tools: [`tool_${index}*`],
    }));
    const { byName } = await createAccess(rules);
    const list = Object.freeze(many);
    const source = withStages({ ...recordingSource(), list: () => list }, [byName]);
    const callers = Array.from({ length: 1_000 }, (_, index) =>
      callerWith({ id: `c${index}`, roles: [`role${index % 10}`] }),
    );
    asked = 0;
    const seen = new Set<unknown>();
    for (const caller of callers) seen.add(await source.list(caller));
    expect(seen.size).toBe(10);
    // The rules a tool falls under are looked up by its name, once and for all callers.
    expect(asked).toBe(10_000);
    const calling = byName.wrap!(many[5]!, () => ({ kind: 'done' }));
    asked = 0;
    for (const caller of callers.filter(({ roles }) => roles[0] === 'role5'))
      await calling(callOf(many[5]!, caller));
    expect(asked).toBe(0);
  });

  test('B10 two roles with different rights never share a list', async () => {
    await fc.assert(
      fc.asyncProperty(rulesArbitrary, callerArbitrary, callerArbitrary, async (rules, one, other) => {
        const { source, access } = await staged(rules);
        const [hers, his] = [await source.list(one), await source.list(other)];
        const isSame = access.byName.viewOf!(one) === access.byName.viewOf!(other);
        expect(hers === his).toBe(isSame);
        if (isSame)
          for (const tool of tools)
            expect(await mayFind(rules, tool, one)).toBe(await mayFind(rules, tool, other));
      }),
      { numRuns: propertyRuns() },
    );
  });
});

describe('for random rules and callers', () => {
  test('B11 a tool is listed exactly if its call is not refused for a missing permission', async () => {
    await fc.assert(
      fc.asyncProperty(rulesArbitrary, callerArbitrary, async (rules, caller) => {
        const { source } = await staged(rules);
        const listed = new Set((await source.list(caller)).map(({ name }) => name));
        for (const tool of tools) {
          const endings = await Promise.all(
            [1, 50, 500].map((amount) => endingOf(source, callOf(tool, caller, { amount }))),
          );
          expect(endings.every((ending) => ending === 'unknown_tool')).toBe(!listed.has(tool.name));
          expect(endings.some((ending) => ending === 'unknown_tool')).toBe(!listed.has(tool.name));
          const expected = [1, 50, 500].map((amount) =>
            bySpecification(rules, tool.name, { caller, amount }),
          );
          expect(endings.map((ending) => ending === 'done')).toEqual(expected);
          if (rules.every(({ when }) => when === undefined)) expect(endings).not.toContain('refused');
        }
      }),
      { numRuns: propertyRuns() },
    );
  });

  test('B11 adding a deny rule at any position never grants anything', async () => {
    await fc.assert(
      fc.asyncProperty(
        rulesArbitrary,
        ruleArbitrary,
        fc.record({ at: fc.nat(), caller: callerArbitrary }),
        async (rules, added, { at, caller }) => {
          const place = at % (rules.length + 1);
          const stricter = rules.toSpliced(place, 0, { ...added, effect: 'deny' as const });
          const [before, after] = [(await staged(rules)).source, (await staged(stricter)).source];
          for (const tool of tools) {
            for (const amount of [1, 500]) {
              const could = (await endingOf(before, callOf(tool, caller, { amount }))) === 'done';
              const can = (await endingOf(after, callOf(tool, caller, { amount }))) === 'done';
              expect(can && !could).toBe(false);
            }
          }
        },
      ),
      { numRuns: propertyRuns() },
    );
  });

  test('control: adding an allow rule does grant something', async () => {
    const before = await staged([{ tools: ['pay'], effect: 'deny' }]);
    const after = await staged([{ tools: ['pay'] }, { tools: ['pay'], effect: 'deny' }]);
    expect(await endingOf(before.source, callOf(tools[2]!, bob, {}))).toBe('unknown_tool');
    expect(await endingOf(after.source, callOf(tools[2]!, bob, {}))).toBe('done');
  });
});

describe('prompts and resources', () => {
  const prompt = definePrompt({ name: 'greet', description: 'Greets.' }, () => 'Hello');
  const page = defineResource({ uri: 'docs:///public/a', name: 'a' }, () => 'text');
  const secret = defineResource({ uri: 'docs:///secret/a', name: 'b' }, () => 'text');
  const template = defineResourceTemplate({ uriTemplate: 'docs:///{+path}', name: 'any' }, () => 'text');

  test.each<[string, Rules, string[]]>([
    ['nothing', [], []],
    ['a rule about tools alone', [{ tools: ['*'] }], []],
    ['prompts', [{ prompts: ['gr*'] }], ['greet']],
    ['resources by address', [{ resources: ['docs:///public/*'] }], ['a']],
    ['a template by its own text', [{ resources: ['docs:///{+path}'] }], ['any']],
    ['a deny', [{ resources: ['*/secret/*'], effect: 'deny' }, { resources: ['*'] }], ['a', 'any']],
    ['another role', [{ roles: ['admin'], prompts: ['*'], resources: ['*'] }], []],
  ])('%s: a caller can read exactly what it can list (002-20)', async (_what, rules, expected) => {
    const { byName } = await createAccess(rules);
    const all: Readable[] = [prompt, page, secret, template];
    expect(all.filter((target) => byName.exposeReading!(target, bob)).map(({ name }) => name)).toEqual(
      expected,
    );
    const read = byName.wrapReading!(() => ({ kind: 'done' }));
    for (const target of all) {
      const call = readingOf(target);
      if (expected.includes(target.name) && !('uriTemplate' in target))
        expect(read(call)).toEqual({ kind: 'done' });
      else if (!expected.includes(target.name))
        expect(() => read(call)).toThrow(/^Unknown (prompt|resource): /);
    }
  });

  const guarded: Rules = [{ resources: ['docs:///secret/*'], effect: 'deny' }, { resources: ['docs:///*'] }];

  test.each([
    'docs:///secret/plan',
    'docs:///%73ecret/plan',
    'docs:///public/../secret/plan',
    'docs:///public/%2e%2e/secret/plan',
    'docs:///./secret/plan',
    'docs:///public%2f..%2fsecret/plan',
    'docs:///public/..%5Csecret',
  ])('access to a resource of a template depends on its address: %s', async (uri) => {
    const { byName } = await createAccess(guarded);
    const read = byName.wrapReading!(() => ({ kind: 'done' }));
    const call = readingOf(template, uri);
    expect(() => read(call)).toThrow(`Unknown resource: ${uri}`);
    expect(byName.exposeReading!(template, bob)).toBe(true);
  });

  test.each(['docs:///public/plan', 'docs:///public/a%20b', 'docs:///100%', 'docs:///a..b/.c'])(
    'an ordinary address can be read: %s',
    async (uri) => {
      const { byName } = await createAccess(guarded);
      const call = readingOf(template, uri);
      expect(byName.wrapReading!(() => ({ kind: 'done' }))(call)).toEqual({ kind: 'done' });
      expect(call.record.rule).toBe('access[1]');
    },
  );

  test('completions are given only for visible prompts and resources', async () => {
    const { byName } = await createAccess([{ prompts: ['greet'] }]);
    const complete = byName.wrapReading!(() => ({ kind: 'done' }));
    const base = {
      ...readingOf(prompt),
      kind: 'completion',
      argument: { name: 'a', value: '' },
      chosen: {},
    } as const;
    expect(complete({ ...base, target: prompt })).toEqual({ kind: 'done' });
    expect(() => complete({ ...base, target: template })).toThrow('Unknown resource: docs:///{+path}');
  });

  function readingOf(target: Readable, uri = 'docs:///x'): Reading {
    const { tool: _tool, arguments: _arguments, kind: _kind, ...base } = callOf(tools[0]!, bob);
    if ('uri' in target)
      return { ...base, kind: 'resource', resource: target, uri: target.uri, variables: {} };
    if ('uriTemplate' in target) return { ...base, kind: 'resource', resource: target, uri, variables: {} };
    return { ...base, kind: 'prompt', prompt: target, arguments: {} };
  }
});

const ruleArbitrary = fc.record(
  {
    roles: fc.subarray(['admin', 'clerk']),
    scopes: fc.subarray(['s1', 's2']),
    tenants: fc.subarray(['local', 'other']),
    callers: fc.subarray(['ada', 'bob']),
    tools: fc.subarray(['*', 'mail_*', 'pay', '*_read', 'rep*t', 'none'], { minLength: 1 }),
    effect: fc.constantFrom('allow' as const, 'deny' as const),
    when: fc.constantFrom('args.amount < 100', 'args.amount == 1', 'args.missing < 1', 'caller.id == "ada"'),
  },
  { requiredKeys: ['tools', 'effect'] },
);
const rulesArbitrary = fc.array(ruleArbitrary, { maxLength: 6 });
const callerArbitrary = fc
  .record({
    id: fc.constantFrom('ada', 'bob', 'eve'),
    roles: fc.subarray(['admin', 'clerk']),
    scopes: fc.subarray(['s1', 's2']),
    tenant: fc.constantFrom('local', 'other'),
  })
  .map(({ tenant, ...rest }) => callerWith({ ...rest, tenant: { id: tenant, name: tenant, data: {} } }));

/** The rules once more, as plainly as they can be put. */
function bySpecification(
  rules: Rules,
  name: string,
  { caller, amount }: { readonly caller: Caller; readonly amount: number },
): boolean {
  const isAny = (wanted: readonly string[] | undefined, has: readonly string[]): boolean =>
    !wanted?.length || wanted.some((value) => has.includes(value));
  for (const { roles, scopes = [], tenants, callers, tools: globs, effect = 'allow', when } of rules) {
    if (!isAny(roles, caller.roles) || !isAny(tenants, [caller.tenant.id])) continue;
    if (!isAny(callers, [caller.id]) || !scopes.every((scope) => caller.scopes.includes(scope))) continue;
    if (!globs!.some((glob) => new RegExp(`^${glob.replaceAll('*', '.*')}$`).test(name))) continue;
    const isTrue = {
      none: true,
      'args.amount < 100': amount < 100,
      'args.amount == 1': amount === 1,
      'args.missing < 1': effect === 'deny',
      'caller.id == "ada"': caller.id === 'ada',
    }[when ?? 'none'];
    if (isTrue) return effect === 'allow';
  }
  return false;
}

async function mayFind(rules: Rules, tool: Tool, caller: Caller): Promise<boolean> {
  return (await (await staged(rules)).source.find(tool.name, caller)) !== undefined;
}

interface Staged {
  readonly source: ToolSource;
  readonly access: Access;
  readonly reached: () => string[];
}

async function staged(rules: Rules, given: readonly Tool[] = tools): Promise<Staged> {
  const access = await createAccess(rules);
  const recording = recordingSource(...given);
  return {
    source: withStages(recording, [access.byName, access.byCondition]),
    access,
    reached: () => recording.calls.map((call) => (call as ToolCall).tool.name),
  };
}

async function endingOf(source: ToolSource, call: ToolCall): Promise<string> {
  try {
    return (await source.call(call)).kind;
  } catch (error) {
    if (error instanceof ToolcribError) return error.code;
    throw error;
  }
}

function callerWith(parts: Partial<Caller>): Caller {
  return { ...localCaller, ...parts };
}

function toolCalled(name: string): Tool {
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: {} },
    handler: () => ({ by: name }),
  };
}

function callOf(tool: Tool, caller: Caller, args: Record<string, unknown> = {}): ToolCall {
  return createTestCall(tool, { arguments: args, caller });
}
