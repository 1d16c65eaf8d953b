import { describe, expect, test } from 'vitest';
import { CurrentSource } from '../../src/gateway/current-source.ts';
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  ToolRegistry,
  withStages,
  type JsonRpcMessage,
  type Stage,
} from '../../src/index.ts';
import { createAccess } from '../../src/stages.ts';
import { describeMatrix, type Cell } from '../behaviour/matrix.ts';
import type { Json, Peer } from '../behaviour/peer.ts';
import { within } from '../within.ts';

const tool = (name: string) => defineTool({ name, description: 'One of several.' }, () => name);
const note = (uri: string) => defineResource({ uri, name: uri }, () => uri);
const prompt = (name: string) =>
  definePrompt({ name, arguments: { topic: { complete: () => ['this', 'that'] } } }, () => name);
const vault = defineResourceTemplate(
  { uriTemplate: 'secret://{id}', name: 'vault', complete: { id: () => ['one'] } },
  () => 'gold',
);

/** A template through which there are these documents to read. */
function documents(paths: readonly string[]) {
  return defineResourceTemplate(
    {
      uriTemplate: 'doc://{area}/{page}',
      name: 'documents',
      complete: {
        area: () => [...new Set(paths.map((path) => path.split('/')[0]!))],
        page: (_typed, { arguments: { area } }) =>
          paths.flatMap((path) =>
            area === undefined || path.startsWith(`${area}/`) ? path.split('/')[1]! : [],
          ),
      },
    },
    ({ area, page }) => (paths.includes(`${area}/${page}`) ? page : undefined),
  );
}

// More than a hundred, the most that a client gets.
const SECRETS = Array.from({ length: 150 }, (_, index) => `secret/plan-${index}`);

/** A source with something for everybody, and with or without something that is secret. */
function stocked(has: 'secrets' | 'none'): ToolRegistry {
  const source = new ToolRegistry()
    .registerTool(tool('open'))
    .registerResource(
      note('note://open'),
      documents([...(has === 'secrets' ? SECRETS : []), 'public/a', 'public/b']),
    )
    .registerPrompt(prompt('open'));
  if (has === 'none') return source;
  return source
    .registerTool(tool('secret'))
    .registerResource(note('note://secret'), vault)
    .registerPrompt(prompt('secret'));
}

const isSecret = (text: string): boolean => /^secret|:\/\/secret/.test(text);

/** The ways in which something is kept from a caller. */
const ways: Readonly<Record<string, () => Promise<Stage>>> = {
  'by rule': async () => {
    const { byName } = await createAccess([
      {
        tools: ['secret*'],
        prompts: ['secret*'],
        resources: ['note://secret*', 'secret:*', 'doc://secret/*'],
        effect: 'deny',
      },
      { tools: ['*'], prompts: ['*'], resources: ['*'] },
    ]);
    return byName;
  },
  'by a stage': async () => ({
    name: 'hide',
    expose: (one) => (isSecret(one.name) ? null : one),
    exposeReading: (target, _caller, address) =>
      !isSecret('uri' in target ? target.uri : 'uriTemplate' in target ? target.uriTemplate : target.name) &&
      !isSecret(address ?? ''),
  }),
};

const completion = (ref: Json, name: string, chosen?: Json): [string, Json] => [
  'completion/complete',
  { ref, argument: { name, value: '' }, ...(chosen && { context: { arguments: chosen } }) },
];
const DOCUMENTS = { type: 'ref/resource', uri: 'doc://{area}/{page}' };

/** Everything by which one could learn of what is secret, in words of the protocol. */
const questions: readonly [method: string, params: Json][] = [
  ['tools/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['prompts/list', {}],
  ['tools/call', { name: 'secret', arguments: {} }],
  ['prompts/get', { name: 'secret' }],
  ['resources/read', { uri: 'note://secret' }],
  ['resources/read', { uri: 'secret://one' }],
  ['resources/read', { uri: 'doc://secret/plan-1' }],
  completion({ type: 'ref/prompt', name: 'secret' }, 'topic'),
  completion({ type: 'ref/resource', uri: 'secret://{id}' }, 'id'),
  completion(DOCUMENTS, 'area'),
  completion(DOCUMENTS, 'page', { area: 'secret' }),
  completion({ ...DOCUMENTS }, 'page', { area: 'public' }),
];
// These are the same whatever there is.
const OPEN_TO_ALL = questions.length - 1;

const subscriptions = ['note://secret', 'secret://one', 'doc://secret/plan-1', 'doc://public/a'].map(
  (uri): [string, Json] => ['resources/subscribe', { uri }],
);

function questionsFor({ era }: Cell): typeof questions {
  return era === 'legacy' ? [...questions.slice(0, OPEN_TO_ALL), ...subscriptions] : questions;
}

async function answersOf(peer: Peer, cell: Cell): Promise<unknown[]> {
  const answers = [];
  for (const [method, params] of questionsFor(cell)) {
    const { result, error } = (await peer.request(method, params))!;
    answers.push([method, params, result ?? error]);
  }
  return answers;
}

const WANTED = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['note://secret', 'secret://one', 'doc://secret/plan-1', 'doc://public/a'],
};

/** The notifications of a client that has subscribed to everything. */
interface Ear {
  readonly heard: JsonRpcMessage[];
  /** Everything up to this. */
  until(last: string): Promise<string[]>;
}

async function listenTo(peer: Peer, { era }: Cell): Promise<Ear> {
  const heard: JsonRpcMessage[] = [];
  let wake = (): void => {};
  const onMessage = (message: JsonRpcMessage): void => {
    if (!('method' in message)) return;
    heard.push(message);
    wake();
  };
  let read = 0;
  const next = async (): Promise<void> => {
    if (era === 'modern' || peer.wire.follow) return new Promise((resolve) => (wake = resolve));
    // Everything comes on one stream, and whatever was said before comes before the answer.
    await peer.request('ping');
    for (; read < peer.wire.heard.length; read++)
      onMessage(JSON.parse(peer.wire.heard[read]!) as JsonRpcMessage);
  };
  const told = (): string[] =>
    heard.map(({ method, params }) =>
      [method, (params as Json | undefined)?.['uri']].filter(Boolean).join(' '),
    );
  const until = async (last: string): Promise<string[]> => {
    while (!told().includes(`notifications/${last}`)) await within(5_000, last, next());
    return told();
  };
  if (era === 'modern') {
    void peer.request('subscriptions/listen', { notifications: WANTED }, { onNotification: onMessage });
    await until('subscriptions/acknowledged');
  } else {
    for (const uri of WANTED.resourceSubscriptions) await peer.request('resources/subscribe', { uri });
    read = peer.wire.heard.length;
    await peer.wire.follow?.(onMessage);
  }
  return { heard, until };
}

/** Changes all that is secret, each in a turn of its own. */
async function stir(source: ToolRegistry): Promise<void> {
  const changes = [
    () => source.resourceUpdated('note://secret'),
    () => source.resourceUpdated('secret://one'),
    () => source.resourceUpdated('doc://secret/plan-1'),
    () => source.registerResource(note('note://secret-too')),
    () => source.removeResource('note://secret-too'),
    () => source.removeResource('secret://{id}'),
    () => source.registerPrompt(prompt('secret_too')),
    () => source.removePrompt('secret'),
    () => source.registerTool(tool('secret_too')),
    () => source.remove('secret'),
  ];
  for (const change of changes) {
    change();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const hears = ({ era, hasSession }: Cell): boolean => era === 'modern' || hasSession;

describeMatrix((cell) => {
  describe.each(Object.entries(ways))('what is hidden from a caller %s', (_way, hide) => {
    test('E5 gets the same responses as what does not exist, for every request', async () => {
      const hidden = await cell.connect({ source: withStages(stocked('secrets'), [await hide()]) });
      const absent = await cell.connect({ source: withStages(stocked('none'), [await hide()]) });
      expect(await answersOf(hidden, cell)).toEqual(await answersOf(absent, cell));
    });

    if (!hears(cell)) return;

    test('E5 is never in a notification', async () => {
      const source = stocked('secrets');
      const peer = await cell.connect({ source: withStages(source, [await hide()]) });
      const ear = await listenTo(peer, cell);
      await stir(source);
      source.resourceUpdated('doc://public/a');
      source.registerTool(tool('open_too'));
      source.registerResource(note('note://open-too'));
      source.registerPrompt(prompt('open_too'));
      const told = await ear.until('prompts/list_changed');
      expect(told.filter((text) => !text.endsWith('acknowledged'))).toEqual([
        'notifications/resources/updated doc://public/a',
        'notifications/tools/list_changed',
        'notifications/resources/list_changed',
        'notifications/prompts/list_changed',
      ]);
      if (cell.era === 'modern')
        expect(ear.heard[0]!.params).toMatchObject({
          notifications: { resourceSubscriptions: ['doc://public/a'] },
        });
    });

    test('E5 sends no more updates to a subscriber that lost the right to read it', async () => {
      const source = stocked('secrets');
      const current = new CurrentSource(source);
      const peer = await cell.connect({ source: current });
      const ear = await listenTo(peer, cell);
      source.resourceUpdated('doc://secret/plan-1');
      await ear.until('resources/updated doc://secret/plan-1');
      ear.heard.length = 0;
      current.replace(withStages(source, [await hide()]), {
        kind: 'tools',
        added: [],
        removed: [],
        modified: [],
      });
      await ear.until('prompts/list_changed');
      ear.heard.length = 0;
      await stir(source);
      source.resourceUpdated('doc://public/a');
      expect(await ear.until('resources/updated doc://public/a')).toEqual([
        'notifications/resources/updated doc://public/a',
      ]);
    });
  });

  test('E5 control: what is hidden from nobody is answered and announced', async () => {
    const source = stocked('secrets');
    const peer = await cell.connect({ source });
    const absent = await cell.connect({ source: stocked('none') });
    const [there, notThere] = [await answersOf(peer, cell), await answersOf(absent, cell)];
    const same = there.filter((answer, index) => JSON.stringify(answer) === JSON.stringify(notThere[index]));
    // A request that everybody may make, and an address that matches a template, which is followed without a check.
    expect(same).toHaveLength(cell.era === 'legacy' ? 2 : 1);
    if (!hears(cell)) return;
    const ear = await listenTo(peer, cell);
    await stir(source);
    source.resourceUpdated('doc://public/a');
    const told = await ear.until('resources/updated doc://public/a');
    expect(told.filter((text) => !text.endsWith('acknowledged'))).toHaveLength(11);
  });
});
